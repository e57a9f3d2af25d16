"""How episodes can be copied is found out, not believed; what was found holds under check_env and in search."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import pytest

from tests.components.envs.gymnasium.made import env, local, newest
from tests.components.search.worlds import same_tree
from tests.scripted import Bench
from tsrflow.components.envs.gymnasium.config import GymnasiumConfig
from tsrflow.components.envs.gymnasium.env import GymnasiumEnv
from tsrflow.components.envs.gymnasium.probe import facts
from tsrflow.components.envs.gymnasium.randomness import generators
from tsrflow.components.search.beam import Beam
from tsrflow.components.search.config import BeamConfig
from tsrflow.config.schema import parse
from tsrflow.errors import ConfigError, RunError
from tsrflow.testing import ContractError, check_env

SHIPPED = [
    ("FrozenLake", None, False),
    ("FrozenLake", {"is_slippery": False}, True),
    ("Taxi", None, True),
    ("CliffWalking", None, True),
    ("Blackjack", None, False),
    ("CartPole", None, True),
]


@pytest.mark.parametrize(("name", "kwargs", "deterministic"), SHIPPED)
def test_gymnasiums_own_are_copied_by_snapshot_and_keep_the_contract(
    name: str, kwargs: Any, deterministic: bool
) -> None:
    world = env(newest(name), kwargs=kwargs)
    assert (world.config.fork_capability, world.config.deterministic) == ("snapshot", deterministic)
    check_env(world, tasks=3, steps=12)


@pytest.mark.parametrize(("name", "kwargs", "deterministic"), SHIPPED[:5:2])
def test_they_keep_it_by_replay_too(name: str, kwargs: Any, deterministic: bool) -> None:
    world = env(newest(name), kwargs=kwargs, fork="replay")
    assert world.config.fork_capability == "replay" and world.config.deterministic == deterministic
    check_env(world, tasks=2, steps=8)
    with pytest.raises(RunError, match=r"env\.fork=replay: episodes of .* are not copied"):
        world.snapshot()


@pytest.mark.parametrize(
    ("name", "capability", "deterministic", "fault"),
    [
        ("Corridor", "snapshot", True, ""),
        ("Unpicklable", "snapshot", True, ""),
        ("OwnStream", "snapshot", False, ""),
        ("Masked", "snapshot", True, ""),
        ("Locked", "replay", True, r"cannot pickle '_thread.lock' object"),
        ("Scripted", "replay", True, r"cannot pickle 'generator' object"),
        ("GlobalSeeded", "replay", True, "draws from the random generators of the process"),
        ("Shared", "replay", True, "a state restored after .* but "),
    ],
)
def test_what_an_environment_holds_decides(name: str, capability: str, deterministic: bool, fault: str) -> None:
    world = env(local(name))
    found = facts(world.config)
    assert (found.capability, found.deterministic) == (capability, deterministic), found
    if fault:
        with pytest.raises(
            ConfigError, match=rf"env: fork=snapshot: .* does not allow it: .*{fault}.*; fork=replay is"
        ):
            parse({"env": {"name": "gymnasium", "id": local(name), "fork": "snapshot"}})
    check_env(world, tasks=3, steps=12)


def test_a_slippery_corridor_is_random() -> None:
    world = env(local("Corridor"), kwargs={"slip": 0.4})
    assert not world.config.deterministic
    check_env(world)


def test_hidden_global_randomness_cannot_be_forked_and_search_is_refused() -> None:
    config = GymnasiumConfig(id=local("Global"))
    assert config.fork_capability == "none"
    with pytest.raises(ContractError, match=r"the same actions on .* had another outcome"):
        check_env(GymnasiumEnv(config))
    chosen = {"name": "gymnasium", "id": local("Global")}
    with pytest.raises(
        ConfigError, match="search=beam: continues a prefix several times, but env=gymnasium cannot be f"
    ):
        parse({"env": chosen, "search": "beam"})
    assert parse({"env": chosen, "search": "naive"}).env.fork_capability == "none"
    for fork in ("snapshot", "replay"):
        with pytest.raises(
            ConfigError, match=rf"env: fork={fork}: .*Global-v0 does not allow it: .*; fork=none is what"
        ):
            parse({"env": {**chosen, "fork": fork}, "search": "naive"})
    assert GymnasiumConfig(id=local("Corridor"), fork="none").fork_capability == "none"


def test_one_that_breaks_while_it_is_tried_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"env: id=.*Raising-v0: cannot be played: OSError: no such device"):
        parse({"env": {"name": "gymnasium", "id": local("Raising")}})


def test_it_is_found_out_once_per_process() -> None:
    config = GymnasiumConfig(id=local("Corridor"), kwargs={"slip": 0.25})
    other = GymnasiumConfig(id=local("Corridor"), kwargs={"slip": 0.25}, max_turns=9)
    assert facts(config) is facts(other)
    assert facts(config) is not facts(GymnasiumConfig(id=local("Corridor")))


def test_probing_leaves_the_generators_of_the_process_alone() -> None:
    state = random.getstate()
    facts(GymnasiumConfig(id=local("Corridor"), kwargs={"slip": 0.125}))
    assert random.getstate() == state


def test_generators_in_attributes_lists_and_dictionaries_are_found() -> None:
    world = env(local("OwnStream"))
    world.reset(world.task("train", 0))
    held = world._world.env.unwrapped
    found = generators(held)
    assert found[0] is held.np_random and any(g is held.streams[0]["wind"] for g in found)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["Corridor", "Unpicklable", "OwnStream"])
def test_snapshots_and_replays_grow_the_same_tree(name: str) -> None:
    def grow(fork: Any) -> Any:
        bench = Bench(
            {},
            lambda prompt, seed: f"<answer>{seed % 2} || {seed // 2 % 2}</answer>",
            capability=fork,
            env=lambda table, noise: env(local(name), fork=fork, max_turns=4),  # type: ignore[arg-type]
            max_turns=4,
        )
        return bench.search(Beam(BeamConfig(width=2, candidates=4)))

    assert same_tree(grow("snapshot"), grow("replay"))


def test_the_missing_extra_is_named() -> None:
    code = (
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'gymnasium' else find(name, *a)\n"
        "import sys; sys.modules['gymnasium'] = None\n"
        "from tsrflow.cli.main import main; sys.argv = ['tsrflow', 'env=gymnasium', 'env.id=FrozenLake-v1']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "tsrflow: env: Gymnasium is not installed; pip install 'tsrflow[gymnasium]'\n"


def test_listing_components_does_not_import_gymnasium() -> None:
    code = "import sys, tsrflow.registry as r; r.registry().specs(); print('gymnasium' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
