"""``env=webshop``: an episode is one shopper's session; a snapshot is that session, nothing more.

Catalogue, search index and goals are loaded once per process and shared by all environments. Nothing in ``step`` is
random: what the original draws there is derived from the session.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from tsrflow import streams
from tsrflow.components.envs.webshop import observe, pages, session
from tsrflow.components.envs.webshop.catalogue import open_world
from tsrflow.components.envs.webshop.config import WebShopConfig
from tsrflow.components.envs.webshop.goals import Goal
from tsrflow.components.envs.webshop.grammar import canonical, split_action
from tsrflow.components.envs.webshop.potential import potential
from tsrflow.components.envs.webshop.reward import reward
from tsrflow.components.envs.webshop.session import Rules, Session
from tsrflow.types import Split, Task

Snapshot = tuple[Session, int, bool]

_SUGGESTED = 2
"""Searches among the legal actions: the shortest that suggest themselves."""

_HINTS = (
    "Search with the few words that name the product; more words rarely help.",
    "Open a product before judging it, and choose every option that the instruction names.",
    "Options that were chosen are lost when you go back to the results.",
    "Check the price against the limit before buying.",
    "Buy a good match rather than run out of turns: only buying is rewarded.",
)


class WebShop:
    """The environment. ``potential`` reads the hidden goal."""

    potential_privileged = True

    def __init__(self, config: WebShopConfig) -> None:
        self.config = config
        self.world = open_world(config)
        self.rules = Rules(config.quirks == "faithful", config.show_attributes, config.results_per_page)
        self._budget = config.action_budget
        self._goal = self.world.goal(0)
        self._state: Snapshot = (Session(0), 0, True)
        self._page: list[pages.Node] | None = None

    @property
    def session(self) -> Session:
        """The shopper's session."""
        return self._state[0]

    def instructions(self, brief: bool) -> str:
        if brief:
            return "Shop: search[words], click[thing], click[buy now]."
        numbered = " Products are numbered: click[2] opens the second." if self.config.observation == "compact" else ""
        hints = "".join(f"\n- {hint}" for hint in _HINTS) if self.config.hints else ""
        return (
            "You shop on a web site for the product that the instruction describes, with the attributes and options it "
            "asks for and below its price limit. Actions: search[words] looks for products, click[text] presses a "
            f"button, opens a product or chooses an option.{numbered} click[buy now] on a product's page ends the "
            f"episode; how well the product fits is the reward.{hints}"
        )

    def task(self, split: Split, index: int) -> Task:
        number = self.world.goal_number(split, index)
        return Task("webshop", split, index, streams.fold(number, self.world.digest))

    def reset(self, task: Task) -> tuple[str, dict[str, Any]]:
        return self.start(self.world.goal_number(task.split, task.index))

    def start(self, number: int, goal: Goal | None = None) -> tuple[str, dict[str, Any]]:
        """Start with goal ``number`` of all goals, whatever its split; ``goal`` replaces what the catalogue drew."""
        self._goal = self.world.goal(number) if goal is None else goal
        self._state, self._page = (Session(number), 0, False), None
        return self._observe(), self._info({})

    def seed_dynamics(self, seed: int) -> None:
        """Nothing to seed: a session determines its own future."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        before, used, over = self._state
        moved = None if over and not self._may_go_on(action) else self._act(before, action)
        if moved is None:
            return self._observe(), 0.0, False, False, {**self._info({}), "invalid": True}
        after, gained, parts = moved
        terminated = after.page == "done"
        truncated = not terminated and used + 1 >= self._budget
        self._state, self._page = (after, used + 1, terminated or truncated), None
        return self._observe(), gained, terminated, truncated, self._info(parts)

    def parse_action(self, text: str) -> str | None:
        return canonical(text, mended=not self.rules.faithful)

    def legal_actions(self) -> Sequence[str]:
        here, _, over = self._state
        if over:
            return ()
        page = self.nodes()
        clicks = [f"click[{label}]" for label in observe.click_labels(here, page, self.config, self.rules)]
        asked = observe.queries(self._goal.text)[:_SUGGESTED] if here.page == "search" else []
        searches = [action for query in asked if (action := self.parse_action(f"search[{query}]")) is not None]
        return tuple(searches + [action for action in clicks if self.parse_action(action) is not None])

    def snapshot(self) -> tuple[Snapshot, Goal]:
        return self._state, self._goal

    def restore(self, snapshot: tuple[Snapshot, Goal]) -> None:
        (self._state, self._goal), self._page = snapshot, None

    def state_hash(self) -> str:
        here, used, over = self._state
        seen = here.visited if self.config.observation == "rich" else ()
        same = here._replace(options=tuple(sorted(here.options)), visited=seen, quirks=session.Quirks())
        parts = (same, self._budget - used, over, self.world.digest)
        return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def potential(self) -> float | None:
        here, used, over = self._state
        truncated = over and here.page != "done" and used > 0
        return potential(here, self._goal, self.world, self.rules, truncated)

    def render_ansi(self) -> str:
        here = self._state[0]
        return pages.rich_text(self.nodes(), here, self.world, self.rules)

    def _may_go_on(self, action: str) -> bool:
        """After buying, the original still takes searches; after the budget is spent nothing goes on."""
        return self.rules.faithful and self._state[0].page == "done" and action.startswith("search[")

    def _act(self, here: Session, action: str) -> tuple[Session, float, dict[str, Any]] | None:
        """(next session, reward, reward parts), or None where the action does nothing."""
        cleaned = canonical(action, mended=not self.rules.faithful)
        parts = None if cleaned is None else split_action(cleaned)
        if parts is None:
            return None
        name, argument = parts
        if name == "search":
            after = session.search(here, argument, self.world, self.rules)
            return None if after is None else (after, 0.0, {})
        targets = pages.clickables(self.nodes())
        if argument in targets and argument != "search":
            target = targets[argument]
        elif self.config.observation == "compact":
            target = observe.by_position(here, argument, self.rules)
            if target is None:
                return None
        else:
            return None
        if argument == "buy now":
            return self._buy(here)
        moved = session.click(here, argument, target, self.world, self.rules)
        return None if moved is None else (moved, 0.0, {})

    def _buy(self, here: Session) -> tuple[Session, float, dict[str, Any]]:
        assert here.product is not None
        match = self.world.match(self._goal, here.product)
        bought = reward(self._goal, match, (value for _, value in here.options))
        paid = bought.value if self.config.reward == "graded" else float(bought.value == 1.0)
        info = {"success": bought.value == 1.0, "score": bought.value, "reward_parts": bought.parts()}
        return here._replace(page="done", score=bought.value), paid, info

    def nodes(self) -> list[pages.Node]:
        """Visible texts of the current page."""
        if self._page is None:
            self._page = pages.nodes(self._state[0], self._goal.text, self.world, self.rules)
        return self._page

    def _observe(self) -> str:
        return observe.observe(self._state[0], self.nodes(), self.world, self.config, self.rules)

    def _info(self, extra: dict[str, Any]) -> dict[str, Any]:
        here = self._state[0]
        return {"success": False, "page": here.page, "quirks": here.quirks._asdict(), **extra}
