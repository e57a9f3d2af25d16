"""Builds an engine over the scripted generator and environment; shared by the tests of search and rollout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tsrflow import streams
from tsrflow.components.scorers.config import ProgressConfig
from tsrflow.components.scorers.progress import ProgressScorer
from tsrflow.config.base import EnvConfig, ForkCapability
from tsrflow.protocols import Env, Scorer, SearchStrategy
from tsrflow.rollout.chat import ChatRenderer
from tsrflow.rollout.engine import Limits, RolloutEngine, Search, TurnRules
from tsrflow.rollout.prompts import Prompter
from tsrflow.testing.scripted import CharacterTokenizer, Script, ScriptedGenerator, TableEnv

Table = Mapping[str, tuple[float, bool, bool, float]]


class ScriptedEnvConfig(EnvConfig):
    """Config of an environment that only exists in tests."""

    name: str = "table"
    noisy: bool = False
    capability: ForkCapability = "snapshot"

    @property
    def deterministic(self) -> bool:
        return not self.noisy

    @property
    def fork_capability(self) -> ForkCapability:
        return self.capability


def answer(actions: str) -> str:
    """``"ab"`` as a well-formed turn of two actions."""
    return f"<answer>{' || '.join(actions)}</answer>"


def uniform_script(actions: Sequence[str] = ("a", "b", "c", "d")) -> Script:
    """A policy that picks one action by the sample's seed alone."""
    return lambda prompt, seed: answer(actions[streams.fold(seed, "choice") % len(actions)])


class Bench:
    """An engine, its generator and the table environments it made."""

    def __init__(
        self,
        table: Table,
        script: Script | None = None,
        *,
        max_turns: int = 3,
        noise: float = 0.0,
        scoring_draws: int = 0,
        clairvoyant: bool = False,
        discount: float = 1.0,
        format_penalty: float = 0.1,
        capability: ForkCapability = "snapshot",
        scorer: Scorer | None = None,
        turn_tokens: int = 64,
        trajectory_tokens: int | None = None,
        context: int = 4096,
        env: type[TableEnv] = TableEnv,
        timeout: float = 5.0,
    ) -> None:
        self.envs: list[Env] = []

        def factory() -> Env:
            self.envs.append(env(table, noise=noise))
            return self.envs[-1]

        self.generator = ScriptedGenerator(script or uniform_script())
        self.renderer = ChatRenderer(CharacterTokenizer(), self.generator.stop_ids)
        self.config = ScriptedEnvConfig(max_turns=max_turns, actions_per_turn=2, noisy=noise > 0, capability=capability)
        self.engine = RolloutEngine(
            self.config,
            factory,
            self.renderer,
            Prompter(
                "play", brief=True, think=False, actions_per_turn=2, max_turns=max_turns, max_turn_tokens=turn_tokens
            ),
            self.generator,
            scorer or ProgressScorer(ProgressConfig()),
            Limits(turn_tokens, trajectory_tokens, context, max_turns),
            TurnRules(2, False, format_penalty, discount, clairvoyant, scoring_draws),
            timeout,
        )
        self.env = factory()

    def search(
        self, strategy: SearchStrategy, *, keep: int = 1, stream: int = 0, searched: bool = True, index: int = 0
    ) -> Search:
        """Run one search on task ``index`` to its end."""
        search = self.open(strategy, keep=keep, stream=stream, searched=searched, index=index)
        self.engine.run([search])
        return search

    def open(
        self, strategy: SearchStrategy, *, keep: int = 1, stream: int = 0, searched: bool = True, index: int = 0
    ) -> Search:
        """A search that has not started yet."""
        return self.engine.open(self.env.task("train", index), 0, index, strategy, keep, searched, stream)


def histories(search: Search) -> list[str]:
    """Action strings of the kept leaves, best first: ``"a|bc"`` is a turn of a, then a turn of b and c."""
    return ["|".join("".join(turn) for turn in leaf.history) for leaf in search.kept]
