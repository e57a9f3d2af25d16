"""Fixtures of the shop's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.components.envs.webshop import shop
from tsrflow.components.envs.webshop.env import WebShop


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hand-made data set."""
    return shop.write(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def env(folder: Path) -> WebShop:
    """The hand-made shop, started with a goal for the red mug."""
    env = shop.open_shop(folder)
    shop.start_for(env, "B0RED")
    return env
