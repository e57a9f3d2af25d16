"""Panels and the hashes of splits."""

from __future__ import annotations

import pytest

from tsrflow.components.envs.frozenlake import FrozenLake, FrozenLakeConfig
from tsrflow.components.envs.sokoban.config import SokobanConfig
from tsrflow.components.envs.sokoban.env import Sokoban
from tsrflow.components.envs.webshop.config import WebShopConfig
from tsrflow.components.envs.webshop.env import WebShop
from tsrflow.errors import ConfigError
from tsrflow.evaluation.panels import SPLITS, build_panel, split_digests
from tsrflow.protocols import Env
from tsrflow.types import Split

ENVS = {
    "frozenlake": lambda: FrozenLake(FrozenLakeConfig()),
    "sokoban": lambda: Sokoban(SokobanConfig()),
    "webshop": lambda: WebShop(WebShopConfig()),
}


@pytest.fixture(params=sorted(ENVS))
def env(request: pytest.FixtureRequest) -> Env:
    return ENVS[request.param]()


def instances(env: Env, split: Split, size: int) -> set[str]:
    """What the policy is shown first and what is hidden, per task."""
    found = set()
    for task in build_panel(env, split, size).tasks:
        observation, _ = env.reset(task)
        found.add(f"{observation}\n{env.state_hash()}")
    return found


def test_no_instance_is_in_two_splits(env: Env) -> None:
    train, validation, test = (instances(env, split, 80) for split in SPLITS)
    assert not train & validation and not train & test and not validation & test
    assert min(len(train), len(validation), len(test)) > 40


def test_digests_name_the_tasks(env: Env) -> None:
    digests = split_digests(env, 50)
    assert set(digests) == set(SPLITS) and len(set(digests.values())) == 3
    assert digests == split_digests(env, 50) != split_digests(env, 49)
    assert digests["validation"] == build_panel(env, "validation", 50).digest


def test_a_panel_larger_than_its_split_is_refused() -> None:
    env = ENVS["webshop"]()
    with pytest.raises(ConfigError, match=r"eval\.tasks=100000: the test split has only \d+ tasks"):
        build_panel(env, "test", 100_000)
    assert split_digests(env, 100_000)["test"] == split_digests(env, 1_000_000)["test"]
