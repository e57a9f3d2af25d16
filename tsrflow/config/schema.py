"""``RunConfig``: everything a run is, validated. No Hydra here; ``tsrflow.run(RunConfig(...))`` needs none.

A component group is narrowed to the config class that is registered under its ``name`` before it is validated, so a
problem is reported at the key where it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationError, model_validator
from pydantic_core import PydanticCustomError

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
from tsrflow.registry import registry

__all__ = ["DEFAULT_COMPONENTS", "EvalConfig", "RolloutConfig", "RunConfig", "TrainerConfig", "conflicts", "parse"]

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
"""What a run is made of unless told otherwise."""
_NOT_THE_WORK = {"resume", "on_error", "tracker"}
"""What does not change the work a run does."""
_MAY_CHANGE: dict[str, Any] = {
    "trainer": {"max_steps", "checkpoint_every", "keep_checkpoints", "threads"},
    "eval": True,
    "rollout": {"record_every"},
}
"""What may differ besides when a run is continued."""


def _narrow(kind: str) -> Callable[[Any], Any]:
    """Validator that turns a name, or a mapping with ``name``, into the component's own config."""

    def narrow(value: Any) -> Any:
        if not isinstance(value, str | Mapping):
            return value
        fields = {"name": value} if isinstance(value, str) else {"name": DEFAULT_COMPONENTS[kind], **value}
        try:
            config = registry().get(kind, str(fields["name"])).config
        except ConfigError as error:
            raise PydanticCustomError("unknown_component", "{message}", {"message": str(error)}) from error
        return config.model_validate(fields)

    return narrow


def _default(kind: str) -> Any:
    return Field(default=DEFAULT_COMPONENTS[kind])


class RunConfig(ConfigModel):
    """A whole run. A group takes a component's config, a mapping of its fields with ``name``, or just the name."""

    env: Annotated[SerializeAsAny[EnvConfig], BeforeValidator(_narrow("env"))] = _default("env")
    search: Annotated[SerializeAsAny[SearchConfig], BeforeValidator(_narrow("search"))] = _default("search")
    scorer: Annotated[SerializeAsAny[ComponentConfig], BeforeValidator(_narrow("scorer"))] = _default("scorer")
    optimizer: Annotated[SerializeAsAny[OptimizerConfig], BeforeValidator(_narrow("optimizer"))] = _default("optimizer")
    filter: Annotated[SerializeAsAny[ComponentConfig], BeforeValidator(_narrow("filter"))] = _default("filter")
    generator: Annotated[SerializeAsAny[GeneratorConfig], BeforeValidator(_narrow("generator"))] = _default("generator")
    model: Annotated[SerializeAsAny[ModelConfig], BeforeValidator(_narrow("model"))] = _default("model")
    tracker: Annotated[SerializeAsAny[ComponentConfig], BeforeValidator(_narrow("tracker"))] = _default("tracker")
    rollout: RolloutConfig = RolloutConfig()
    trainer: TrainerConfig = TrainerConfig()
    eval: EvalConfig = EvalConfig()
    seed: int = Field(default=1, ge=0)
    """Seed of everything random in the run."""
    resume: Literal["auto", "never", "restart"] = "auto"
    """What to do with a run folder that already holds a run: continue it, refuse, or begin again."""
    on_error: Literal["continue", "stop"] = "continue"
    """Whether a failing job of a sweep stops the others."""

    @model_validator(mode="after")
    def _parts_fit(self) -> RunConfig:
        problems = conflicts(self)
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def config_hash(self) -> str:
        """32 hex digits; runs with equal hashes do the same work."""
        return _digest(self.model_dump(mode="json", exclude=_NOT_THE_WORK))

    def resume_hash(self) -> str:
        """Equal for configs of which one may continue the other's run."""
        return _digest(self.model_dump(mode="json", exclude={**dict.fromkeys(_NOT_THE_WORK, True), **_MAY_CHANGE}))

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
        named = {kind: data.get(kind, name) for kind, name in DEFAULT_COMPONENTS.items()}
        named = {k: {"name": DEFAULT_COMPONENTS[k], **v} if isinstance(v, Mapping) else v for k, v in named.items()}
        raise ConfigError(explain(error, RunConfig, {**data, **named})) from error


def conflicts(config: RunConfig) -> list[str]:
    """Problems that no single key shows, one message each."""
    rollout, search, env = config.rollout, config.search, config.env
    problems = search.conflicts(env)
    if config.optimizer.needs_groups and rollout.group_size == 1:
        problems.append(
            f"rollout.group_size=1: optimizer={config.optimizer.name} compares the trajectories of a group; "
            "must be int >= 2, or use optimizer=ppo or optimizer=reinforce_pp"
        )
    if search.needs_fork and env.fork_capability == "none":
        problems.append(f"search={search.name}: continues a prefix several times, but env={env.name} cannot be forked")
    if search.max_keep is not None and rollout.keep > search.max_keep:
        problems.append(
            f"rollout.keep={rollout.keep}: search={search.name} returns at most {search.max_keep} per search"
        )
    if search.name == "naive":
        return problems
    plain = rollout.mix * rollout.group_size
    if abs(plain - round(plain)) > 1e-9:
        problems.append(
            f"rollout.mix={rollout.mix:g}: {plain:g} of rollout.group_size={rollout.group_size} trajectories would be "
            "plain rollouts; their product must be whole"
        )
    elif (searched := rollout.group_size - round(plain)) % rollout.keep:
        problems.append(
            f"rollout.keep={rollout.keep}: does not divide the {searched} searched trajectories of a group "
            f"(rollout.group_size={rollout.group_size}, rollout.mix={rollout.mix:g})"
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
