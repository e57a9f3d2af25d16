"""Hydra's side of the config: option nodes from the registry, composition, grids. The only such code besides ``cli``.

Every registered component becomes an option of its group, made from the defaults of its Pydantic class. Built-ins are
reached through a YAML file of their own in ``conf/`` that includes ``<kind>/base/<name>``; a plugin's option is stored
under its name directly. Objects are built by the registry, never from ``_target_`` strings.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_module
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from tsrflow.config.schema import RunConfig, parse
from tsrflow.errors import ConfigError, nearest
from tsrflow.registry import KINDS, registry

PACKAGE = "tsrflow.conf"
SECTIONS = ("rollout", "trainer", "eval")


@dataclass(frozen=True, slots=True)
class Job:
    """One point of a grid: what was typed for it, the config that this means, and the folder it has in a sweep."""

    overrides: tuple[str, ...]
    config: RunConfig
    folder: Path


def register() -> None:
    """Store option nodes for all components and the resolver that names run folders."""
    store = ConfigStore.instance()
    shipped = {(kind, path) for kind in KINDS for path in _yaml_options(kind)}
    for spec in registry().specs():
        node = {"name": spec.name, **_defaults(spec.config)}
        store.store(group=f"{spec.kind}/base", name=spec.name, node=node, provider=spec.origin)
        if (spec.kind, spec.name) not in shipped:
            store.store(group=spec.kind, name=spec.name, node=node, provider=spec.origin)
        elif spec.origin != "tsrflow":
            raise ConfigError(f"plugin {spec.origin}: the name {spec.kind}={spec.name} is taken by a preset of tsrflow")
    top: dict[str, Any] = {name: _defaults(RunConfig.model_fields[name].annotation) for name in SECTIONS}
    top |= {key: field.default for key, field in RunConfig.model_fields.items() if key not in (*KINDS, *SECTIONS)}
    store.store(name="run", node=top, provider="tsrflow")
    OmegaConf.register_new_resolver("run_name", _run_name, replace=True)


def to_run_config(config: DictConfig) -> RunConfig:
    """Validate a composed config. Raises ConfigError."""
    plain = OmegaConf.to_container(config, resolve=True)
    assert isinstance(plain, dict)
    plain.pop("hydra", None)
    return parse(_without_missing({str(key): value for key, value in plain.items()}))


def preflight(overrides: Sequence[str], sweep: bool) -> list[Job]:
    """Compose and validate every job of a command line before any of them starts.

    Raises ConfigError that lists all problems, each once, with the jobs it hits where it does not hit all.
    """
    problems: dict[str, list[str]] = {}
    jobs: list[Job] = []
    with _hydra() as hydra:
        grid = list(itertools.product(*(_choices(o, sweep) for o in _parse(hydra, overrides))))
        for number, point in enumerate(grid):
            try:
                jobs.append(Job(point, _compose(point), _sweep_folder(point, number) if sweep else Path()))
            except ConfigError as error:
                for line in str(error).splitlines():
                    problems.setdefault(line, []).append(" ".join(point))
    if problems:
        lines = [f"{text}  (in {len(hit)} of {len(grid)} jobs)" if len(grid) > 1 else text for text, hit in problems.items()]
        raise ConfigError("\n".join(lines))
    return jobs


def _compose(overrides: Sequence[str]) -> RunConfig:
    try:
        return to_run_config(hydra_compose("config", overrides=[o for o in overrides if not _is_hydra(o)]))
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_in_our_words(error, overrides)) from error


def _sweep_folder(overrides: Sequence[str], number: int) -> Path:
    """Where job ``number`` of a sweep lives: ``hydra.sweep.dir`` / ``hydra.sweep.subdir``."""
    config = hydra_compose("config", overrides=[*overrides, f"hydra.job.num={number}"], return_hydra_config=True)
    return Path(str(OmegaConf.select(config, "hydra.sweep.dir"))) / str(OmegaConf.select(config, "hydra.sweep.subdir"))


def _parse(hydra: GlobalHydra, overrides: Sequence[str]) -> list[Override]:
    try:
        return OverridesParser.create(config_loader=hydra.config_loader()).parse_overrides(list(overrides))
    except HydraException as error:
        raise ConfigError(str(error).splitlines()[0]) from error


def _choices(override: Override, sweep: bool) -> list[str]:
    if not override.is_sweep_override() or _is_hydra(override.input_line or ""):
        return [override.input_line or ""]
    if not sweep:
        raise ConfigError(f"{override.input_line}: several values; add -m to run them all")
    return [f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()]


def _is_hydra(override: str) -> bool:
    return override.lstrip("+~").startswith(("hydra.", "hydra/", "hydra="))


def _in_our_words(error: Exception, overrides: Sequence[str]) -> str:
    """The key the user typed, what exists, and the nearest name, for what Hydra found."""
    known_groups = {kind: options(kind) for kind in KINDS}
    for override in overrides:
        key, _, value = override.partition("=")
        group = key.lstrip("+~").split("@")[0]
        if group in known_groups and value and value not in known_groups[group]:
            names = known_groups[group]
            return f"{key}={value}: no such {group}; known: {', '.join(names)}{nearest(value, names)}"
    text = " ".join(str(error).split())
    for override in overrides:
        key, _, value = override.partition("=")
        if key and ("struct" in text or "Could not override" in text) and _unknown(key):
            known = _siblings(key)
            return f"{override}: no such key; known: {', '.join(known)}{nearest(key.split('.')[-1], known)}"
    return text


def _unknown(key: str) -> bool:
    config: Any = RunConfig()
    for part in key.split("."):
        if not isinstance(config, BaseModel):
            return True
        if part not in type(config).model_fields:
            return True
        config = getattr(config, part)
    return False


def _siblings(key: str) -> list[str]:
    config: Any = RunConfig()
    for part in key.split(".")[:-1]:
        config = getattr(config, part, config)
    return sorted(type(config).model_fields) if isinstance(config, BaseModel) else []


def options(kind: str) -> list[str]:
    """Every name that ``kind=`` accepts: components and presets."""
    return sorted({*registry().names(kind), *_yaml_options(kind)})


def _yaml_options(kind: str) -> list[str]:
    folder = files(PACKAGE) / kind
    return [entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")]


def _defaults(model: Any) -> dict[str, Any]:
    """Default values of a Pydantic class as plain data; required fields are ``???``."""
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name == "name":
            continue
        default = field.get_default(call_default_factory=True)
        if default is PydanticUndefined:
            values[name] = "???"
        elif isinstance(default, BaseModel):
            values[name] = default.model_dump(mode="json")
        else:
            values[name] = list(default) if isinstance(default, tuple) else default
    return values


def _without_missing(value: Any) -> Any:
    """``???`` means not given: leave it out, so that validation names the key."""
    if isinstance(value, dict):
        return {k: _without_missing(v) for k, v in value.items() if v != "???"}
    return value


def _run_name(*, _root_: DictConfig) -> str:
    content = {key: _root_._get_node(key) for key in _root_ if key != "hydra"}
    return to_run_config(OmegaConf.create(content)).run_name()


@contextmanager
def _hydra() -> Iterator[GlobalHydra]:
    GlobalHydra.instance().clear()
    with initialize_config_module(PACKAGE, version_base="1.3"):
        yield GlobalHydra.instance()
