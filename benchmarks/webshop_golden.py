"""Recordings of the original WebShop text environment and their comparison with ours, for ``webshop_parity.py``."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tsrflow.components.envs.webshop import fuzzy, nouns, pages, reward, session
from tsrflow.components.envs.webshop.catalogue import World
from tsrflow.components.envs.webshop.config import WebShopConfig
from tsrflow.components.envs.webshop.env import WebShop
from tsrflow.components.envs.webshop.files import locate
from tsrflow.components.envs.webshop.goals import Goal, build_table

EXPLAINED = {
    "crash": "The original raises on `<a> words`, on `<c>` alone and on `<r>` where there are fewer than 50 products. "
    "Here that is an invalid action that changes nothing.",
    "after a crash": "The original has counted the search that crashed and keeps its words; here it never happened. "
    "What differs until Back to Search follows from that.",
    "random products": "`<r>` shows products from the original's unseeded global random numbers, here from a stream "
    "derived from the session. Pages are not comparable until Back to Search.",
    "unknown price": "The recording does not say which price was drawn from a product's range; the reward equals that "
    "of another price in the range.",
}
_SHOWN = 5


@dataclass(slots=True)
class Check:
    """Comparisons of one kind."""

    name: str
    cases: int = 0
    compared: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def equal(self, what: str, got: Any, expected: Any, where: str, reason: str | None = None) -> bool:
        """Count one comparison; a difference with a ``reason`` is an explained one."""
        self.compared += 1
        if got == expected:
            return True
        if reason is not None:
            self.explained[reason] += 1
            return False
        self.unexplained[what] += 1
        if len(self.examples) < _SHOWN:
            self.examples.append(f"{where}: {what} is {_short(got)}, recorded {_short(expected)}")
        return False


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:160]}… ({len(text)} characters)"


def _find(folder: Path, name: str) -> Path | None:
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def _open(path: Path) -> Any:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def _cases(folder: Path, name: str) -> list[dict[str, Any]]:
    path = _find(folder, f"{name}.jsonl")
    if path is None:
        return []
    with _open(path) as stream:
        return [json.loads(line) for line in stream if line.strip()]


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def goal_of(recorded: Mapping[str, Any]) -> Goal:
    """A goal as it was recorded."""
    options = recorded["goal_options"]
    pairs = tuple(options.items()) if isinstance(options, dict) else tuple(options)
    return Goal(
        recorded["instruction_text"],
        recorded["asin"],
        recorded["name"],
        recorded["query"],
        recorded["product_category"],
        tuple(recorded["attributes"]),
        pairs,
        float(recorded["price_upper"]),
    )


class Golden:
    """One folder of recordings, with an environment per recorded world."""

    def __init__(self, folder: Path, cache: str, spacy_model: str) -> None:
        locate(str(folder))  # raises ConfigError where there is no catalogue
        self.folder = folder
        self._cache = cache
        self._spacy_model = spacy_model
        self.checks: dict[str, Check] = {}
        self.measures: dict[str, Any] = {}
        self._recorded: dict[str, dict[str, Any]] = {}
        for path in sorted((*folder.glob("world*.json"), *folder.glob("world*.json.gz"))):
            with _open(path) as stream:
                self._recorded[path.name.split(".")[0].removeprefix("world").lstrip("_")] = json.load(stream)
        self._worlds: dict[str, World] = {}
        self._envs: dict[tuple[str, bool], WebShop] = {}

    def check(self, name: str) -> Check:
        return self.checks.setdefault(name, Check(name))

    def run(self) -> None:
        """Compare everything there is."""
        for name in self._recorded:
            self._compare_world(name)
        for path in sorted(self.folder.glob("*_episodes.jsonl*")):
            kind = path.name.split(".")[0]
            for number, episode in enumerate(_cases(self.folder, kind)):
                self._replay(self.check(kind), episode, f"{kind}[{number}] {episode.get('kind', '')}")
        self._search()
        self._rewards()
        self._pieces()
        self._measure_nouns()

    def env(self, world: str, show_attributes: bool = False) -> WebShop:
        """The environment of a recorded world, in the faithful mode."""
        if (world, show_attributes) not in self._envs:
            kind = "human" if self._is_human(world) else "synthetic"
            config = WebShopConfig(
                data=str(self.folder),
                goals=kind if self._recorded else "auto",
                world_seed=self._seed(world),
                observation="text",
                quirks="faithful",
                show_attributes=show_attributes,
                max_actions=10**9,
                cache=self._cache,
            )
            env = WebShop(config)
            prices = self._recorded.get(world, {}).get("product_prices")
            if prices is not None:
                drawn = [prices.get(p.asin, float("nan")) for p in env.world.products]
                env.world.table = replace(env.world.table, prices=np.asarray(drawn))
                env.world.match.cache_clear()
            self._envs[world, show_attributes] = env
        return self._envs[world, show_attributes]

    def _is_human(self, world: str) -> bool:
        recorded = self._recorded.get(world, {})
        goals = recorded.get("goals", [])
        return bool(recorded.get("human_goals", bool(goals) and isinstance(goals[0]["goal_options"], list)))

    def _seed(self, world: str) -> int:
        recorded = self._recorded.get(world, {})
        return int(recorded.get("seed", recorded.get("world_seed", 0)))

    def _world_of(self, case: Mapping[str, Any]) -> str:
        """The world a case belongs to: the one it names, or the only one."""
        return str(case.get("world", next(iter(self._recorded), "")))

    def _compare_world(self, name: str) -> None:
        recorded, env = self._recorded[name], self.env(name)
        check, products = self.check("worlds"), env.world.products
        for place, expected in enumerate(recorded.get("products", [])):
            check.cases += 1
            product, where = products[place], f"product {place}"
            got = {
                "asin": product.asin,
                "Title": product.title,
                "Description": product.description,
                "BulletPoints": list(product.bullets),
                "pricing": list(product.pricing),
                "Price": product.price,
                "options": {name: list(values) for name, values in product.options},
                "Attributes": list(product.attributes),
                "category": product.category,
                "query": product.query,
                "product_category": product.product_category,
            }
            check.equal("product", got, {key: expected[key] for key in got if key in expected}, where)
        if not {"seed", "world_seed"} & set(recorded):
            return
        table = build_table(env.world.table.kind, env.world.catalogue.summary, self._seed(name))
        for place, product in enumerate(products):
            price = recorded["product_prices"].get(product.asin)
            check.equal("price", float(table.prices[place]), price, f"price of product {place}")
        check.equal("number of goals", len(table), len(recorded["goals"]), name)
        for number, expected in enumerate(recorded["goals"][: len(table)]):
            check.cases += 1
            check.equal("goal", table.goal(number, products), goal_of(expected), f"{name} goal {number}")

    def _replay(self, check: Check, episode: Mapping[str, Any], where: str) -> None:
        shows = any("attributes" in (step.get("clickables") or ()) for step in episode["steps"])
        world = self._world_of(episode)
        env = self.env(world, shows)
        number, goal = episode["goal_index"], goal_of(episode["goal"])
        env.start(number, goal)
        check.cases += 1
        counters: Counter[str] = Counter()
        crashed = lost = False
        self._compare_view(check, env, episode["reset"], f"{where} reset")
        for place, step in enumerate(episode["steps"]):
            here, before = f"{where} step {place} {step['action'][:60]!r}", env.session
            _, got, terminated, _, info = env.step(step["action"])
            after = env.session
            if "error" in step:
                crashed = True
                check.equal("state after a crash", (after, bool(info.get("invalid"))), (before, True), here)
                check.explained["crash"] += 1
                continue
            counters, back = _count(counters, before, after, info)
            crashed, lost = crashed and not back, lost and not back
            if lost or (after.keywords or ("",))[0] == "<r>":
                lost = True
                check.explained["random products"] += 1
                continue
            reason = "after a crash" if crashed else self._price_reason(env, goal, step)
            self._compare_view(check, env, step, here, reason)
            check.equal("done", terminated, step["done"], here, reason)
            check.equal("reward", got, step["reward"], here, reason)
            parts = step.get("parts", step.get("info"))
            if parts is not None:
                check.equal("reward parts", info.get("reward_parts"), parts, here, reason)
            self._compare_state(check, env, step["state"], counters, here, reason)

    @staticmethod
    def _compare_view(
        check: Check, env: WebShop, view: Mapping[str, Any], where: str, reason: str | None = None
    ) -> None:
        here, nodes = env.session, env.nodes()
        got = {
            "text": pages.plain_text(nodes),
            "rich": pages.rich_text(nodes, here, env.world, env.rules),
            "clickables": list(pages.clickables(nodes)),
            "has_search_bar": here.page == "search",
            "url": session.address(here, env.world),
        }
        for what in got.keys() & view.keys():
            check.equal(what, got[what], view[what], where, reason)

    @staticmethod
    def _compare_state(
        check: Check, env: WebShop, state: Mapping[str, Any], counters: Counter[str], where: str, reason: str | None
    ) -> None:
        here, products = env.session, env.world.products
        got = {
            "asin": None if here.product is None else products[here.product].asin,
            "options": dict(here.options),
            "page": here.number,
            "keywords": None if here.keywords is None else list(here.keywords),
            "asins": sorted(products[place].asin for place in here.visited),
        }
        expected = {key: sorted(state[key]) if key == "asins" else state[key] for key in got}
        check.equal("session", got, expected, where, reason)
        check.equal("counters", dict(counters), state["actions"], where, reason)

    @staticmethod
    def _price_reason(env: WebShop, goal: Goal, step: Mapping[str, Any]) -> str | None:
        """``unknown price`` where another price of the product's range gives the recorded reward."""
        here = env.session
        if here.page != "done" or here.product is None:
            return None
        known = here.goal < len(env.world.table) and goal == env.world.goal(here.goal)
        pricing = env.world.products[here.product].pricing
        if known or len(pricing) < 2 or not min(pricing) <= goal.price_upper <= max(pricing):
            return None  # the goal is of the recorded world, whose prices are known, or any price gives the same
        match = env.world.match(goal, here.product)
        other = reward.reward(goal, replace(match, price=not match.price), dict(here.options).values())
        return "unknown price" if other.value == step["reward"] else None

    def _search(self) -> None:
        check = self.check("search_cases")
        for case in _cases(self.folder, "search_cases"):
            check.cases += 1
            world = self.env(self._world_of(case)).world
            scored = world.catalogue.index.scored(case["query"])
            hits = [hit if isinstance(hit, str) else hit[0] for hit in case["hits"]]
            where = f"search {case['query'][:60]!r}"
            same = check.equal("hits", [world.products[place].asin for place, _ in scored], hits, where)
            scores = [hit[1] for hit in case["hits"] if not isinstance(hit, str)]
            if same and scores:
                close = [abs(got - score) < 1e-4 for (_, got), score in zip(scored, scores, strict=True)]
                check.equal("scores to four decimals", all(close), True, where)

    def _rewards(self) -> None:
        check = self.check("reward_cases")
        for number, case in enumerate(_cases(self.folder, "reward_cases")):
            check.cases += 1
            match, goal = self._match(case)
            bought = reward.reward(goal, match, case["options"].values())
            check.equal("reward", bought.value, case["reward"], f"reward_cases[{number}]")
            parts = case.get("parts", case.get("info"))
            if parts is not None:
                check.equal("reward parts", bought.parts(), parts, f"reward_cases[{number}]")
            for key, got in (("num_attr", match.attributes), ("num_option", bought.options)):
                if key in case:
                    check.equal(key, got, case[key], f"reward_cases[{number}]")

    def _match(self, case: Mapping[str, Any]) -> tuple[reward.ProductMatch, Goal]:
        name = self._world_of(case)
        world = self.env(name).world
        goal = goal_of(self._recorded[name]["goals"][case["goal_index"]])
        place = self._places(name)[case["asin"]]
        return replace(world.match(goal, place), price=case["price"] <= goal.price_upper), goal

    def _places(self, name: str) -> dict[str, int]:
        if name not in self._worlds:
            self._worlds[name] = self.env(name).world
        return {p.asin: place for place, p in enumerate(self._worlds[name].products)}

    def _pieces(self) -> None:
        """Parts of the reward on their own."""
        for name, compare in (
            ("type_cases", _compare_type),
            ("option_cases", _compare_options),
            ("normalize_cases", _compare_colour),
            ("fuzzy_cases", _compare_fuzzy),
        ):
            for number, case in enumerate(_cases(self.folder, name)):
                check = self.check(name)
                check.cases += 1
                compare(check, case, f"{name}[{number}]")

    def _measure_nouns(self) -> None:
        """How often r_type would differ with other nouns than the recorded ones, on pairs of titles."""
        recorded = {case["title"]: tuple(case["nouns"]) for case in _cases(self.folder, "title_nouns")}
        if not recorded:
            return
        products = list(self.env(next(iter(self._recorded), "")).world.products)
        products = [p for p in products if p.title in recorded]
        alike = defaultdict(list)
        for product in products:
            alike[product.query].append(product)
        rng = random.Random(0)
        first = [rng.choice(products) for _ in range(4000)]
        pairs = {
            "random pairs": [(p, rng.choice(products)) for p in first],
            "pairs of one query": [(p, rng.choice(alike[p.query])) for p in first],
        }
        for source, tag in (("rule", nouns.by_rule), ("spaCy", nouns.by_spacy(self._spacy_model))):
            if tag is None:
                continue
            self.measures[f"{source}: titles with other nouns"] = _share(
                tag(title) != known for title, known in recorded.items()
            )
            for name, sample in pairs.items():
                self.measures[f"{source}: other r_type, {name}"] = _share(
                    _r_type(a, b, tag) != _r_type(a, b, recorded.__getitem__) for a, b in sample
                )


def _r_type(bought: Any, wanted: Any, tag: Callable[[str], Sequence[str]]) -> float:
    return reward.match_type(bought, wanted, tag(bought.title), tag(wanted.title)).r_type


def _share(differs: Iterator[bool]) -> float:
    values = list(differs)
    return round(sum(values) / len(values), 4)


def _count(
    counters: Counter[str], before: session.Session, after: session.Session, info: Mapping[str, Any]
) -> tuple[Counter[str], bool]:
    """The original's action counters after a step, and whether it led back to the search page, which resets them."""
    if info.get("invalid"):
        return counters, False
    if after.page == "search":
        return Counter(), True
    if after.page == "item":
        event = {"results": "asin", "item": "options"}.get(before.page)
    else:
        event = {"results": "search", "sub": after.sub, "done": "purchase"}[after.page]
    return (counters + Counter({event: 1}) if event else counters), False


def _compare_type(check: Check, case: Mapping[str, Any], where: str) -> None:
    bought, wanted = SimpleNamespace(**case["purchased"]), SimpleNamespace(**case["goal"])
    match: Any = reward.match_type(bought, wanted, case["purchased_nouns"], case["goal_nouns"])  # type: ignore[arg-type]
    for key in ("r_type", "query_match", "category_match", "title_score"):
        check.equal(key, getattr(match, key), case[key], where)


def _compare_options(check: Check, case: Mapping[str, Any], where: str) -> None:
    wanted = case["goal_options"]
    pairs = list(wanted.items()) if isinstance(wanted, dict) else wanted
    check.equal("matches", reward.count_options(case["purchased"], pairs), case["matches"], where)


def _compare_colour(check: Check, case: Mapping[str, Any], where: str) -> None:
    got = fuzzy.normalize_color(_frozen(case["s"]))
    check.equal("colour word", got, _frozen(case["normalize_color"]), where)


def _compare_fuzzy(check: Check, case: Mapping[str, Any], where: str) -> None:
    got = fuzzy.score(_frozen(case["s1"]), _frozen(case["s2"]))
    check.equal("score", got, case["score_thefuzz_0_22_1"], where)
