"""``RunConfig``: everything a run is, validated. No Hydra here; ``tsrflow.run(RunConfig(...))`` needs none.

Component groups are narrowed to the registered config class of their ``name`` before validation, so an unknown key is
reported at its own path.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, SerializeAsAny, ValidationError, model_validator

from tsrflow.config.base import (
    ComponentConfig,
    ConfigModel,
    EnvConfig,
    GeneratorConfig,
    ModelConfig,
    OptimizerConfig,
    SearchConfig,
)
from tsrflow.config.errors import explain
from tsrflow.config.sections import EvalConfig, RolloutConfig, TrainerConfig
from tsrflow.errors import ConfigError
from tsrflow.registry import KINDS, registry

DEFAULT_COMPONENTS = {
    "env": "frozenlake",
    "search": "beam",
    "scorer": "progress",
    "optimizer": "grpo",
    "filter": "none",
    "generator": "transformers",
    "model": "tiny",
    "tracker": "tensorboard",
}
_MAY_CHANGE = {
    "trainer": ("max_steps", "checkpoint_every", "keep_checkpoints", "threads"),
    "eval": tuple(EvalConfig.model_fields),
    "rollout": ("record_every",),
}
"""What may differ when a run is continued."""


class RunConfig(ConfigModel):
    """A whole run. Groups take a component's config, its fields as a mapping with ``name``, or just the name."""

    env: SerializeAsAny[EnvConfig] = Field(default_factory=lambda: _default("env"))
    search: SerializeAsAny[SearchConfig] = Field(default_factory=lambda: _default("search"))
    scorer: SerializeAsAny[ComponentConfig] = Field(default_factory=lambda: _default("scorer"))
    optimizer: SerializeAsAny[OptimizerConfig] = Field(default_factory=lambda: _default("optimizer"))
    filter: SerializeAsAny[ComponentConfig] = Field(default_factory=lambda: _default("filter"))
    generator: SerializeAsAny[GeneratorConfig] = Field(default_factory=lambda: _default("generator"))
    model: SerializeAsAny[ModelConfig] = Field(default_factory=lambda: _default("model"))
    tracker: SerializeAsAny[ComponentConfig] = Field(default_factory=lambda: _default("tracker"))
    rollout: RolloutConfig = RolloutConfig()
    trainer: TrainerConfig = TrainerConfig()
    eval: EvalConfig = EvalConfig()
    seed: int = Field(default=1, ge=0)
    """Seed of everything random in the run."""
    resume: Literal["auto", "never", "restart"] = "auto"
    """What to do with a run folder that already holds a run: continue it, refuse, or begin again."""
    on_error: Literal["continue", "stop"] = "continue"
    """Whether a failing job of a sweep stops the others."""

    @model_validator(mode="before")
    @classmethod
    def _narrow(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return {key: _narrowed(key, value) if key in KINDS else value for key, value in data.items()}

    @model_validator(mode="after")
    def _parts_fit(self) -> RunConfig:
        for problem in _misfits(self):
            raise ValueError(problem)
        return self

    def config_hash(self) -> str:
        """32 hex digits; runs with equal hashes do the same work."""
        return _digest(self.model_dump(mode="json", exclude={"resume", "on_error", "tracker"}))

    def resume_hash(self) -> str:
        """Equal for configs of which one may continue the other's run."""
        content = self.model_dump(mode="json", exclude={"resume", "on_error", "tracker"})
        for section, keys in _MAY_CHANGE.items():
            for key in keys:
                del content[section][key]
        return _digest(content)

    def run_name(self) -> str:
        """``<search>-<optimizer>-<env>-<model>-s<seed>-<hash6>``."""
        parts = (self.search.name, self.optimizer.name, self.env.name, self.model.name)
        return f"{'-'.join(parts)}-s{self.seed}-{self.config_hash()[:6]}"

    def flat(self) -> dict[str, Any]:
        """Every value by its dotted key."""
        return dict(_flatten(self.model_dump(mode="json")))


def parse(data: Mapping[str, Any]) -> RunConfig:
    """Validate ``data``. Raises ConfigError that lists every problem by the key a user typed."""
    try:
        return RunConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigError(explain(error, data)) from error


def _default(kind: str) -> Any:
    return registry().get(kind, DEFAULT_COMPONENTS[kind]).config()


def _narrowed(kind: str, value: Any) -> Any:
    if isinstance(value, ComponentConfig):
        return value
    fields = {"name": value} if isinstance(value, str) else dict(value) if isinstance(value, Mapping) else {}
    name = fields.setdefault("name", DEFAULT_COMPONENTS[kind])
    config = registry().get(kind, str(name)).config
    try:
        return config.model_validate(fields)
    except ValidationError as error:
        raise ConfigError(explain(error, fields, kind)) from error


def _misfits(config: RunConfig) -> list[str]:
    """Problems that no single field shows."""
    rollout, search, env = config.rollout, config.search, config.env
    problems = []
    if search.needs_fork and env.fork == "none":
        problems.append(f"search={search.name} continues a prefix several times, but env={env.name} cannot be forked")
    plain = rollout.mix * rollout.group_size
    if search.name != "naive" and abs(plain - round(plain)) > 1e-9:
        problems.append(
            f"rollout.mix={rollout.mix:g} of rollout.group_size={rollout.group_size} is {plain:g} trajectories; "
            "choose them so that their product is whole"
        )
    searched = rollout.group_size - round(plain)
    if search.name != "naive" and searched % rollout.keep:
        problems.append(
            f"rollout.keep={rollout.keep} does not divide the {searched} searched trajectories of a group "
            f"(rollout.group_size={rollout.group_size}, rollout.mix={rollout.mix:g})"
        )
    if search.max_keep is not None and rollout.keep > search.max_keep:
        problems.append(f"rollout.keep={rollout.keep}: search={search.name} returns at most {search.max_keep} per search")
    width, candidates = getattr(search, "width", None), getattr(search, "candidates", None)
    if width is not None and candidates is not None and width > candidates**env.max_turns:
        problems.append(
            f"search.width={width} can never be filled: search.candidates={candidates} gives at most "
            f"{candidates**env.max_turns} prefixes in {env.max_turns} turns"
        )
    return problems


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _flatten(content: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, value in content.items():
        flat += _flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", value)]
    return flat
