"""Finds what is wrong with a command line before anything starts: every job of a grid is composed and validated.

All problems are reported at once, each in one line that names the key as it was typed, the value, what is allowed and
the nearest name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from tsrflow.config import compose
from tsrflow.config.errors import unknown_key
from tsrflow.config.fields import did_you_mean
from tsrflow.config.schema import DEFAULT_COMPONENTS, RunConfig
from tsrflow.errors import ConfigError, nearest
from tsrflow.registry import KINDS


@dataclass(frozen=True, slots=True)
class Job:
    """One point of a grid: what was typed for it, the config that this means, and its run folder."""

    overrides: tuple[str, ...]
    config: RunConfig
    folder: Path
    composed: DictConfig
    """The config as Hydra composed it, Hydra's own node included."""

    @property
    def launcher(self) -> str:
        """Which ``hydra/launcher`` was chosen."""
        return str(self.composed.hydra.runtime.choices["hydra/launcher"])


def preflight(overrides: Sequence[str], sweep: bool = False) -> list[Job]:
    """The jobs of a command line, composed and valid.

    Of a sweep that a sweeper other than Hydra's basic one steers, the fixed part is validated and no job is returned.

    Raises ConfigError that lists every problem, with the number of jobs it hits where it does not hit all.
    """
    problems: dict[str, int] = {}
    jobs: list[Job] = []
    with compose.initialised():
        grid, complete = _grid(overrides, sweep)
        for number, point in enumerate(grid):
            try:
                jobs.append(_job(point, number, sweep))
            except ConfigError as error:
                for line in str(error).splitlines():
                    problems[line] = problems.get(line, 0) + 1
    if not problems:
        problems = dict.fromkeys(_shared_folders(jobs), len(grid))
    if problems:
        raise ConfigError("\n".join(f"{text}{_share(hit, len(grid))}" for text, hit in problems.items()))
    return jobs if complete else []


def check_composition(overrides: Sequence[str]) -> None:
    """Raise ConfigError where ``overrides`` name what does not exist; values are not looked at."""
    with compose.initialised():
        try:
            compose.compose(overrides)
        except compose.ERRORS as error:
            raise ConfigError(_in_our_words(error, overrides)) from error


def _share(hit: int, total: int) -> str:
    return "" if hit == total else f" (in {hit} of {total} jobs; none was started)"


def _shared_folders(jobs: Sequence[Job]) -> Iterator[str]:
    first: dict[Path, Job] = {}
    for job in jobs:
        other = first.setdefault(job.folder, job)
        if other is not job:
            yield (
                f"{' '.join(job.overrides)}: would have the run folder {job.folder} of "
                f"{' '.join(other.overrides)}; drop one of them, or set hydra.sweep.subdir"
            )


def _grid(overrides: Sequence[str], sweep: bool) -> tuple[list[tuple[str, ...]], bool]:
    """One tuple of overrides per job, as Hydra's basic sweeper expands them, and whether these are all jobs."""
    parsed = _parse(overrides)
    if not sweep:
        for override in parsed:
            if override.is_sweep_override():
                raise ConfigError(f"{override.input_line}: several values; add -m to run them all, or [...] for a list")
        return [tuple(overrides)], True
    try:
        node = compose.compose(overrides, sweep=True).hydra
        sweeper, choices = node.sweeper, node.runtime.choices
    except compose.ERRORS:
        sweeper, choices = {"_target_": BasicSweeper.__name__}, {}  # what is wrong is found again in the jobs
    if not str(sweeper.get("_target_", "")).endswith(BasicSweeper.__name__):
        if choices["hydra/launcher"] == "process":
            name = choices["hydra/sweeper"]
            raise ConfigError(f"hydra/sweeper={name}: needs a launcher of Hydra's, for example hydra/launcher=basic")
        return [tuple(o.input_line or "" for o in parsed if not o.is_sweep_override())], False
    swept = [f"{key}={value}" for key, value in (sweeper.get("params") or {}).items()]
    try:
        (points,) = BasicSweeper.split_arguments(_parse([*swept, *overrides]), max_batch_size=None)
    except HydraException as error:
        raise ConfigError(" ".join(str(error).split())) from error
    return [tuple(point) for point in points], True


def _parse(overrides: Sequence[str]) -> list[Override]:
    parser = OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())
    parsed = []
    for text in overrides:
        try:
            parsed += parser.parse_overrides([text])
        except OverrideParseException as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(f"{text}: not of the form key=value that Hydra reads: {reason}") from error
    return parsed


def _job(point: tuple[str, ...], number: int, sweep: bool) -> Job:
    for override in _parse(point):
        kind, _, key = override.key_or_group.partition(".")
        if kind in KINDS and key == "name":
            value = override.get_value_element_as_str()
            raise ConfigError(f"{kind}.name={value}: a component is chosen with {kind}={value}")
    try:
        config = compose.compose(point)
        run = compose.to_run_config(config)
        if sweep:
            _check_launcher(config)
        return Job(point, run, _folder(config, number, sweep), config)
    except compose.ERRORS as error:
        raise ConfigError(_in_our_words(error, point)) from error


def _check_launcher(config: DictConfig) -> None:
    jobs = config.hydra.launcher.get("n_jobs", 1)
    if config.hydra.runtime.choices["hydra/launcher"] == "process" and not (isinstance(jobs, int) and jobs >= 1):
        raise ConfigError(f"hydra.launcher.n_jobs={jobs}: must be int >= 1")


def _folder(config: DictConfig, number: int, sweep: bool) -> Path:
    keys = ("hydra.sweep.dir", "hydra.sweep.subdir") if sweep else ("hydra.run.dir",)
    if sweep:
        with open_dict(config):
            config.hydra.job.num = config.hydra.job.id = number
    before = HydraConfig.instance().cfg
    HydraConfig.instance().set_config(config)
    try:
        return Path(*(str(OmegaConf.select(config, key)) for key in keys))
    finally:
        HydraConfig.instance().cfg = before


def _in_our_words(error: Exception, point: Sequence[str]) -> str:
    """What Hydra or OmegaConf found, with the key that was typed, what exists, and the nearest name."""
    overrides = _parse(point)
    if isinstance(error, MissingConfigException):
        for override in overrides:
            group, value = override.key_or_group, override.get_value_element_as_str()
            if error.missing_cfg_file == f"{group}/{value}":
                known = compose.options(group)
                return f"{group}={value}: no such {group}; known: {', '.join(known)}{nearest(value, known)}"
    else:
        loader = GlobalHydra.instance().config_loader()
        groups = [o for o in overrides if loader.get_group_options(o.key_or_group)]
        config = _composed([o.input_line or "" for o in groups])
        for override in overrides:
            if config is not None and override not in groups and not (override.is_add() or override.is_force_add()):
                message = _unknown(override, config)
                if message:
                    return message
    text = str(error) or str(error.__cause__ or "") or type(error).__name__
    if isinstance(error, OmegaConfBaseException) and error.full_key:
        return f"{error.full_key}: {text.splitlines()[0]}"
    return " ".join(text.split())


def _composed(overrides: list[str]) -> DictConfig | None:
    try:
        return compose.compose(overrides)
    except compose.ERRORS:
        return None


def _unknown(override: Override, config: DictConfig) -> str | None:
    """The message for an override of a key that ``config`` does not have; None where it has it."""
    path = override.key_or_group
    node: Any = OmegaConf.to_container(config, resolve=False)
    for part in path.split("."):
        if not isinstance(node, Mapping) or part not in node:
            break
        node = node[part]
    else:
        return None
    value = override.value() if not override.is_delete() else ""
    if path.startswith("hydra."):
        return f"{path}={value}: no such key{did_you_mean(path, _flat(config.hydra, 'hydra.'))}"
    named = {kind: str(config.get(kind, {}).get("name", name)) for kind, name in DEFAULT_COMPONENTS.items()}
    return unknown_key(path, value, RunConfig, named)


def _flat(node: Any, prefix: str) -> list[str]:
    keys: list[str] = []
    for key in node:
        inner = node._get_node(key)
        keys += _flat(inner, f"{prefix}{key}.") if OmegaConf.is_dict(inner) else [f"{prefix}{key}"]
    return keys
