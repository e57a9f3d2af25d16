"""Every hook that plugins can implement is called by somebody: one test per hookspec, and a test that there is one."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import pytest

from tsrflow.config.base import ComponentConfig
from tsrflow.registry import Registry, hookimpl, hookspecs
from tsrflow.registry.plugins import load

HOOKS = sorted(
    name for name, function in inspect.getmembers(hookspecs, inspect.isfunction) if name.startswith("tsrflow_")
)


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hookspec_has_a_test(hook: str) -> None:
    assert f"test_hook_{hook}" in globals()


def test_hook_tsrflow_register() -> None:
    """It is called once per plugin, with a registry that stamps the plugin's origin."""
    seen: list[str] = []

    class Config(ComponentConfig):
        name: str = "mine"

    @hookimpl
    def tsrflow_register(registry: Registry) -> None:
        seen.append(registry.origin)
        registry.add("tracker", "mine", config=Config, factory=dict, summary="")

    filled = load(SimpleNamespace(tsrflow_register=tsrflow_register), [])
    assert seen == ["tsrflow"]
    assert filled.get("tracker", "mine").origin == "tsrflow"
