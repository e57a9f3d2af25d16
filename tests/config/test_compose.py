"""The YAML files and what Hydra makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from hydra.core.config_store import ConfigStore

from tsrflow.config import compose
from tsrflow.config.base import ComponentConfig
from tsrflow.config.schema import RunConfig
from tsrflow.errors import ConfigError
from tsrflow.registry import KINDS, Registry, registry
from tsrflow.registry import plugins as plugin_module

CONF = Path(__file__).resolve().parents[2] / "conf"
FILES = sorted(file.relative_to(CONF) for file in CONF.glob("*/*.yaml"))
REQUIRED = {"env/gymnasium": ["env.id=FrozenLake-v1"], "model/pretrained": ["model.path=/some/folder"]}


@pytest.fixture(autouse=True)
def _registered() -> None:
    compose.register()


def composed(overrides: Sequence[str] = ()) -> RunConfig:
    with compose.initialised():
        return compose.to_run_config(compose.compose(overrides))


def test_the_files_choose_what_the_classes_default_to() -> None:
    assert composed() == RunConfig()


@pytest.mark.parametrize("file", FILES, ids=str)
def test_every_file_composes_and_validates(file: Path) -> None:
    group, name = file.parent.name, file.stem
    config = composed([f"{group}={name}", *REQUIRED.get(f"{group}/{name}", [])])
    if group in KINDS and name in registry().names(group):
        assert getattr(config, group).name == name


@pytest.mark.parametrize("file", FILES, ids=str)
def test_no_file_restates_a_default(file: Path) -> None:
    text = (CONF / file).read_text(encoding="utf-8")
    comments = [line for line in text.splitlines() if line.startswith("#") and "@package" not in line]
    assert comments, "says in a comment what it is for"
    content = yaml.safe_load(text)
    values = {key: value for key, value in content.items() if key != "defaults"}
    reference: Any = RunConfig().model_dump(mode="json")
    if file.parent.name in KINDS:
        included = content["defaults"][0].removeprefix("base/").removesuffix("@_here_")
        reference = compose.defaults(registry().get(file.parent.name, included).config)
    assert not list(_same(values, reference))


def _same(values: dict[str, Any], reference: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _same(value, reference[key], f"{prefix}{key}.")
        elif key in reference and reference[key] == value:
            yield prefix + key


def test_every_built_in_has_a_file_and_every_folder_is_a_package() -> None:
    missing = [f"{s.kind}/{s.name}" for s in registry().specs() if not (CONF / s.kind / f"{s.name}.yaml").is_file()]
    assert not missing
    assert all(
        (folder / "__init__.py").is_file() for folder in [CONF, *CONF.glob("*/")] if folder.name != "__pycache__"
    )


def test_options_are_the_components_and_presets_and_nothing_else() -> None:
    with compose.initialised():
        assert {"frozenlake", "frozenlake_slippery", "webshop", "webshop_ragen"} <= set(compose.options("env"))
        assert "base" not in compose.options("env")
        assert compose.options("search") == ["beam", "bon", "lookahead", "naive"]
        assert "debug" in compose.options("experiment")


def test_presets() -> None:
    assert composed(["env=frozenlake_slippery"]).env == registry().get("env", "frozenlake").config(slip=0.8)
    debug = composed(["experiment=debug", "trainer.max_steps=3"])
    dapo = composed(["experiment=dapo"])
    assert (dapo.optimizer.name, dapo.filter.name, dapo.flat()["filter.fraction"]) == ("dapo", "reward_std", 1.0)
    assert debug.trainer.max_steps == 3 and debug.rollout.tasks < RunConfig().rollout.tasks


def test_required_setting_is_missing_until_given() -> None:
    with pytest.raises(ConfigError, match=r"^model\.path: required"):
        composed(["model=pretrained"])
    assert composed(["model=pretrained", "model.path=/folder"]).flat()["model.path"] == "/folder"


def test_resolver_names_the_run_folder() -> None:
    with compose.initialised():
        config = compose.compose(["seed=3"])
        assert str(config.hydra.run.dir) == f"runs/{RunConfig(seed=3).run_name()}"


def test_defaults_as_plain_data() -> None:
    class Sample(ComponentConfig):
        name: Literal["sample"] = "sample"
        needed: int
        pair: tuple[float, float] = (0.5, 1.0)
        maybe: str | None = None

    assert compose.defaults(Sample) == {"name": "sample", "needed": "???", "pair": [0.5, 1.0], "maybe": None}


def test_a_component_without_a_file_is_an_option_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Extra(ComponentConfig):
        """A plugin's config."""

        name: Literal["extra"] = "extra"
        strength: float

    extended = Registry("some-dist", base=registry())
    extended.add("scorer", "extra", config=Extra, factory=dict, summary="")
    for module in (compose, plugin_module):
        monkeypatch.setattr(module, "registry", lambda: extended)
    monkeypatch.setattr("tsrflow.config.schema.registry", lambda: extended)
    repository = ConfigStore.instance().repo
    before = {key: dict(repository[key]) for key in ("scorer",)}
    try:
        compose.register()
        with compose.initialised():
            assert "extra" in compose.options("scorer")
        assert composed(["scorer=extra", "scorer.strength=2"]).scorer == Extra(strength=2.0)
    finally:
        repository.update(before)
