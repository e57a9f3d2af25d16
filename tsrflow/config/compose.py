"""Hydra's side of the config: option nodes from the registry, composition, grids. The only such code besides ``cli``.

Every registered component becomes an option of its group, made from the defaults of its Pydantic class. Where ``conf/``
has a YAML file of that name, the file includes the node as ``<kind>/base/<name>``; otherwise (plugins) the node itself
is the option. Objects are built by the registry, never from ``_target_`` strings.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir, initialize_config_module
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel
from pydantic_core import PydanticUndefined, to_jsonable_python

from tsrflow.config.schema import RunConfig, parse
from tsrflow.registry import KINDS, registry

PACKAGE = "tsrflow.conf"
VERSION_BASE = "1.3"
ROOT = "config"
ERRORS = (HydraException, OmegaConfBaseException, AssertionError, AttributeError)
"""What composing raises; the last two come out of OmegaConf where an override goes through a value that is null."""


def config_path() -> str:
    """Where the YAML files are, in Hydra's terms: the installed package, or ``conf/`` of a checkout that is not."""
    if importlib.util.find_spec(PACKAGE) is not None:
        return f"pkg://{PACKAGE}"
    return str(Path(__file__).resolve().parents[2] / "conf")


def register() -> None:
    """Tell Hydra about components, default values and the settings of our launcher."""
    store = ConfigStore.instance()
    for spec in registry().specs():
        node = {**defaults(spec.config), "name": spec.name}
        group = f"{spec.kind}/base" if spec.name in _yaml_names(spec.kind) else spec.kind
        store.store(group=group, name=spec.name, node=node, provider=spec.origin)
    sections = defaults(RunConfig)
    store.store(name="sections", node={k: v for k, v in sections.items() if k not in KINDS}, provider="tsrflow")
    store.store(group="hydra/launcher", name="process", node={"n_jobs": 1}, provider="tsrflow")


def defaults(model: type[BaseModel]) -> dict[str, Any]:
    """Default values of a config class as plain data; required fields are ``???``."""
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        values[name] = "???" if default is PydanticUndefined else to_jsonable_python(default)
    return values


@contextmanager
def initialised() -> Iterator[None]:
    """Hydra, ready to compose from ``conf/``; what was initialised before is put back afterwards."""
    where = config_path()
    before = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        if where.startswith("pkg://"):
            initialize_config_module(PACKAGE, version_base=VERSION_BASE)
        else:
            initialize_config_dir(where, version_base=VERSION_BASE)
        yield
    finally:
        GlobalHydra.instance().clear()
        if before is not None:
            GlobalHydra.instance().initialize(before)


def compose(overrides: Sequence[str], sweep: bool = False) -> DictConfig:
    """The composed config with Hydra's own node; call within ``initialised``. With ``sweep``, as the sweeper sees it.

    Raises HydraException where the overrides do not fit.
    """
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    return hydra.compose_config(
        config_name=ROOT,
        overrides=list(overrides),
        run_mode=RunMode.MULTIRUN if sweep else RunMode.RUN,
        from_shell=False,
        with_log_configuration=False,
    )


def options(group: str) -> list[str]:
    """Every name that ``group=`` accepts: components and presets; call within ``initialised``."""
    names = GlobalHydra.instance().config_loader().get_group_options(group, ObjectType.CONFIG)
    return sorted(names)


def plain(config: DictConfig) -> dict[str, Any]:
    """A composed config as plain data, without Hydra's own node and without ``???`` (not given)."""
    content = OmegaConf.create({key: config._get_node(key) for key in config if key != "hydra"})
    resolved = OmegaConf.to_container(content, resolve=True)
    assert isinstance(resolved, dict)
    return {str(key): value for key, value in _without_missing(resolved).items()}


def to_run_config(config: DictConfig) -> RunConfig:
    """Validate a composed config. Raises ConfigError."""
    return parse(plain(config))


def _yaml_names(kind: str) -> list[str]:
    where = config_path()
    if where.startswith("pkg://"):
        spec = importlib.util.find_spec(PACKAGE)
        assert spec is not None and spec.submodule_search_locations is not None
        folders = [Path(location) / kind for location in spec.submodule_search_locations]
    else:
        folders = [Path(where) / kind]
    return [file.stem for folder in folders for file in folder.glob("*.yaml")]


def _without_missing(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _without_missing(v) for k, v in value.items() if v != "???"}
    return value


def _run_name(*, _root_: DictConfig) -> str:
    return to_run_config(_root_).run_name()


# On import, so that the workers of other launchers know it too.
OmegaConf.register_new_resolver("run_name", _run_name, replace=True)
