"""Plugins as they are found in real life: distributions with entry points on ``sys.path``."""

from __future__ import annotations

import warnings
from itertools import count
from pathlib import Path

import pytest

from tsrflow.errors import ConfigError
from tsrflow.registry import DuplicateComponentError, PluginWarning, registry

pytestmark = pytest.mark.usefixtures("fresh_registry")

GOOD = """
from typing import Literal
from tsrflow.config.base import ComponentConfig
from tsrflow.registry import hookimpl

class Config(ComponentConfig):
    name: Literal["{name}"] = "{name}"
    strength: float = 1.0

@hookimpl
def tsrflow_register(registry):
    registry.add("scorer", "{name}", config=Config, factory=lambda config: config.strength, summary="a test scorer")
"""


NUMBERS = count()
"""Distribution names differ from test to test, because Python caches imported modules."""


class Site:
    """A folder on ``sys.path`` into which distributions are put."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.number = next(NUMBERS)

    def install(self, distribution: str, code: str) -> None:
        module = distribution.replace("-", "_")
        (self.folder / f"{module}.py").write_text(code, encoding="utf-8")
        info = self.folder / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[tsrflow]\n{distribution} = {module}\n", encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.syspath_prepend(str(tmp_path))
    site = Site(tmp_path)
    monkeypatch.setenv("TSRFLOW_PLUGINS", ",".join(name(letter, site) for letter in "ab"))
    return site


def name(letter: str, site: Site) -> str:
    return f"dist-{letter}-{site.number}"


def test_a_good_plugin_is_loaded_with_its_distribution_as_origin(site: Site) -> None:
    site.install(name("a", site), GOOD.format(name="alpha"))
    spec = registry().get("scorer", "alpha")
    assert spec.origin == name("a", site)
    assert spec.build(spec.config(strength=3.0)) == 3.0


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import a_module_that_does_not_exist", "ModuleNotFoundError: No module named 'a_module_that_does_not_exist'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def tsrflow_register(registry): ...", "no function tsrflow_register marked with tsrflow.registry.hookimpl"),
        (GOOD.format(name="alpha").replace('"scorer"', '"scrorer"'), "unknown component kind 'scrorer'"),
        (GOOD.format(name="alpha") + "    raise RuntimeError('half-way')", "RuntimeError: half-way"),
    ],
    ids=["import", "error", "unmarked", "kind", "half-way"],
)
def test_a_broken_plugin_is_skipped_with_its_name_and_error(site: Site, code: str, reason: str) -> None:
    site.install(name("a", site), code)
    site.install(name("b", site), GOOD.format(name="beta"))
    with pytest.warns(PluginWarning) as caught:
        names = registry().names("scorer")
    assert "beta" in names and "progress" in names and "alpha" not in names
    assert name("a", site) in str(caught[0].message) and reason in str(caught[0].message)


def test_strict_mode_raises(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSRFLOW_STRICT_PLUGINS", "1")
    site.install(name("a", site), "1 / 0")
    with pytest.raises(ConfigError, match=f"plugin {name('a', site)} .* is broken: ZeroDivisionError"):
        registry()


def test_two_plugins_with_one_name_are_refused_naming_both(site: Site) -> None:
    site.install(name("a", site), GOOD.format(name="same"))
    site.install(name("b", site), GOOD.format(name="same"))
    with pytest.raises(DuplicateComponentError, match=f"one from {name('a', site)}, one from {name('b', site)}"):
        registry()


def test_a_plugin_cannot_take_the_name_of_a_built_in(site: Site) -> None:
    site.install(name("a", site), GOOD.format(name="progress"))
    with pytest.raises(DuplicateComponentError, match=f"one from tsrflow, one from {name('a', site)}"):
        registry()


def test_a_plugin_may_replace_a_built_in_on_purpose(site: Site) -> None:
    site.install(name("a", site), GOOD.format(name="progress").replace("summary=", "override=True, summary="))
    assert registry().get("scorer", "progress").origin == name("a", site)


def test_allow_list_loads_only_what_it_names(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install(name("a", site), "1 / 0")
    site.install(name("b", site), GOOD.format(name="beta"))
    monkeypatch.setenv("TSRFLOW_PLUGINS", f" {name('b', site)} ,other")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "beta" in registry().names("scorer")


def test_empty_allow_list_loads_none(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install(name("a", site), GOOD.format(name="alpha"))
    monkeypatch.setenv("TSRFLOW_PLUGINS", "")
    assert {spec.origin for spec in registry().specs()} == {"tsrflow"}


def test_without_an_allow_list_everything_installed_is_loaded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install(name("a", site), GOOD.format(name="alpha"))
    monkeypatch.delenv("TSRFLOW_PLUGINS")
    assert "alpha" in registry().names("scorer")


def test_registry_is_loaded_once(site: Site) -> None:
    assert registry() is registry()
