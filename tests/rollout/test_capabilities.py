"""Every way of copying an episode gives the same trees; what cannot be copied is refused."""

from __future__ import annotations

import pytest

from tests.components.search.worlds import HashedTable, moody_script, same_tree
from tests.scripted import Bench
from tsrflow.components.search.beam import Beam
from tsrflow.components.search.bon import BestOfN
from tsrflow.components.search.config import BeamConfig, BestOfNConfig, LookaheadConfig, NaiveConfig
from tsrflow.components.search.lookahead import Lookahead
from tsrflow.components.search.naive import Naive
from tsrflow.config.base import ForkCapability
from tsrflow.errors import RunError
from tsrflow.protocols import SearchStrategy
from tsrflow.rollout.live import Search
from tsrflow.testing.scripted import TableEnv
from tsrflow.types import Task

STRATEGIES: list[SearchStrategy] = [
    Naive(NaiveConfig()),
    BestOfN(BestOfNConfig(n=3)),
    Beam(BeamConfig(width=2, candidates=3)),
    Lookahead(LookaheadConfig(candidates=2, depth=2, branch=2)),
]


class NoSnapshot(TableEnv):
    """Can be copied or played again, but not remembered."""

    def snapshot(self) -> tuple[str, int]:
        raise AssertionError("snapshot was called")

    def restore(self, snapshot: tuple[str, int]) -> None:
        raise AssertionError("restore was called")


def grow(strategy: SearchStrategy, capability: ForkCapability, seed: int, **options: object) -> tuple[Search, int]:
    env = TableEnv if capability == "snapshot" else NoSnapshot
    bench = Bench(HashedTable(seed), moody_script(seed), capability=capability, env=env, **options)  # type: ignore[arg-type]
    searches = [bench.open(strategy, keep=1, stream=seed + i, index=i) for i in range(2)]
    bench.engine.run(searches)  # two at once: they must not disturb each other
    return searches[0], bench.engine.ledger.total.env_steps


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("capability", ["deepcopy", "replay"])
@pytest.mark.parametrize(
    "options",
    [{}, {"noise": 0.3}, {"noise": 0.3, "scoring_draws": 2}, {"noise": 0.3, "clairvoyant": True}],
    ids=["deterministic", "commit", "honest", "clairvoyant"],
)
def test_copying_and_replaying_give_the_tree_that_snapshots_give(
    strategy: SearchStrategy, capability: ForkCapability, options: dict[str, object]
) -> None:
    for seed in range(3):
        reference, steps = grow(strategy, "snapshot", seed, **options)
        other, other_steps = grow(strategy, capability, seed, **options)
        assert same_tree(reference, other)
        assert other_steps >= steps
        if capability == "deepcopy":
            assert other_steps == steps


def test_steps_that_replay_the_way_are_counted() -> None:
    def steps(capability: ForkCapability) -> int:
        bench = Bench({}, lambda prompt, seed: "<answer>a</answer>", capability=capability, max_turns=4)
        bench.search(Naive(NaiveConfig()))
        return bench.engine.ledger.total.env_steps

    assert steps("snapshot") == 4
    assert steps("replay") == 1 + 2 + 3 + 4


def test_a_linear_rollout_needs_no_copies() -> None:
    for seed in range(5):
        reference, _ = grow(STRATEGIES[0], "snapshot", seed)
        other, _ = grow(STRATEGIES[0], "none", seed)
        assert same_tree(reference, other)


def test_a_linear_rollout_makes_one_environment_per_episode() -> None:
    bench = Bench({}, capability="none", max_turns=5)
    before = len(bench.envs)
    bench.engine.run([bench.open(Naive(NaiveConfig()), index=i) for i in range(3)])
    assert len(bench.envs) - before <= 3 + 1


@pytest.mark.parametrize("strategy", STRATEGIES[1:], ids=lambda s: type(s).__name__)
def test_search_over_an_environment_that_cannot_fork_is_refused(strategy: SearchStrategy) -> None:
    bench = Bench({}, capability="none")
    with pytest.raises(RunError, match=rf"{type(strategy).__name__} continues a prefix more than once.*fork 'none'"):
        bench.search(strategy)


class Forgetful(TableEnv):
    """Says it can be replayed, but every reset starts somewhere else."""

    resets = 0

    def reset(self, task: Task) -> tuple[str, dict[str, object]]:
        observation, info = super().reset(task)
        Forgetful.resets += 1
        self._path = f"{Forgetful.resets}:"
        return observation, info


def test_a_replay_that_leads_elsewhere_is_an_error_not_a_wrong_tree() -> None:
    bench = Bench({}, capability="replay", env=Forgetful)
    with pytest.raises(RunError, match="Forgetful declares fork 'replay', but playing the same actions"):
        bench.search(STRATEGIES[2])
