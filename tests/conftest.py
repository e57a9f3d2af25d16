"""Shared by all tests: only built-in components, no network, no surprises from many threads."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

os.environ["TSRFLOW_PLUGINS"] = ""  # read when the registry is first used
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")


@pytest.fixture
def fresh_registry() -> Iterator[None]:
    """Load the registry anew in this test, and again after it."""
    from tsrflow.registry import registry

    registry.cache_clear()
    yield
    registry.cache_clear()
