"""Builds every part of a run from its config: the one place where components meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tsrflow.components.models.policy import LoadedPolicy
from tsrflow.config.schema import RunConfig
from tsrflow.errors import ConfigError
from tsrflow.evaluation.panels import Panel, build_panel, split_digests
from tsrflow.protocols import Env, Tracker
from tsrflow.protocols import Generator as PolicyGenerator
from tsrflow.registry import registry
from tsrflow.rollout.chat import ChatRenderer
from tsrflow.rollout.collect import Collector
from tsrflow.rollout.engine import Limits, RolloutEngine, TurnRules
from tsrflow.rollout.prompts import Prompter
from tsrflow.training.module import SearchPolicyModule

_DIGESTED_TASKS = 64
"""First tasks of each split that its hash in the summary covers."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts of one run."""

    module: SearchPolicyModule
    generator: PolicyGenerator
    engine: RolloutEngine
    collector: Collector
    panel: Panel
    split_digests: dict[str, str]
    trackers: tuple[Tracker, ...]
    renderer: ChatRenderer


def build(kind: str, config: Any, **context: Any) -> Any:
    """The component that ``config`` names."""
    return registry().get(kind, config.name).build(config, **context)


def assemble(config: RunConfig) -> Assembly:
    """Load the model and wire everything. Raises ConfigError where parts do not fit."""
    policy = load(config)
    stochastic = not config.env.deterministic
    env: Env = build("env", config.env)
    renderer = ChatRenderer(policy.tokenizer, policy.stop_ids)
    generator = build("generator", config.generator, model=policy.model, stop_ids=policy.stop_ids)
    engine = build_engine(config, policy, renderer, generator, env)
    strategy = build("search", config.search, stochastic=stochastic)
    naive_spec = registry().get("search", "naive")
    naive = strategy if config.search.name == "naive" else naive_spec.build(naive_spec.config(name="naive"))
    rollout = config.rollout
    collector = Collector(
        engine,
        env,
        strategy,
        naive,
        tasks=rollout.tasks,
        group_size=rollout.group_size,
        keep=rollout.keep,
        mix=rollout.mix,
        seed=config.seed,
    )
    _check_context(config, policy, engine, collector)
    module = SearchPolicyModule(config, policy, build("optimizer", config.optimizer), build("filter", config.filter))
    return Assembly(
        module=module,
        generator=generator,
        engine=engine,
        collector=collector,
        panel=build_panel(env, config.eval.split, config.eval.tasks),
        split_digests=split_digests(env, _DIGESTED_TASKS),
        trackers=(build("tracker", config.tracker),),
        renderer=renderer,
    )


def load(config: RunConfig) -> LoadedPolicy:
    """The policy a run starts from; the id that its chat template closes a reply with ends a turn too."""
    policy: LoadedPolicy = build("model", config.model, env=config.env.name).load()
    closing = ChatRenderer(policy.tokenizer, policy.stop_ids).closing_id()
    stop_ids = policy.stop_ids if closing is None else policy.stop_ids | {closing}
    return LoadedPolicy(policy.model, policy.tokenizer, stop_ids, policy.context)


def build_engine(
    config: RunConfig, policy: LoadedPolicy, renderer: ChatRenderer, generator: PolicyGenerator, env: Env
) -> RolloutEngine:
    """A rollout engine for ``config`` with prompts made for its model."""
    rollout, fork = config.rollout, config.rollout.resolved_fork(config.env)
    brief = config.model.prefers_brief if rollout.instructions == "auto" else rollout.instructions == "brief"
    prompter = build_prompter(config, env, brief)
    rules = TurnRules(
        actions_per_turn=config.env.actions_per_turn,
        think=rollout.think,
        format_penalty=rollout.format_penalty,
        discount=rollout.discount,
        clairvoyant=fork == "clairvoyant",
        scoring_draws=rollout.honest_draws if fork == "honest" and not config.env.deterministic else 0,
    )
    limits = Limits(
        config.generator.max_turn_tokens, rollout.max_trajectory_tokens, policy.context, config.env.max_turns
    )
    return RolloutEngine(
        config.env,
        lambda: build("env", config.env),
        renderer,
        prompter,
        generator,
        build("scorer", config.scorer),
        limits,
        rules,
        rollout.env_timeout,
    )


def build_prompter(config: RunConfig, env: Env, brief: bool) -> Prompter:
    """Composes the messages of ``config``'s episodes."""
    return Prompter(
        env.instructions(brief),
        brief=brief,
        think=config.rollout.think,
        actions_per_turn=config.env.actions_per_turn,
        max_turns=config.env.max_turns,
        max_turn_tokens=config.generator.max_turn_tokens,
    )


def _check_context(config: RunConfig, policy: LoadedPolicy, engine: RolloutEngine, collector: Collector) -> None:
    needed = engine.first_prompt_tokens(collector.training_task(1, 0)) + config.generator.max_turn_tokens
    if needed > policy.context:
        raise ConfigError(
            f"model.name={config.model.name}: its context of {policy.context} tokens cannot hold the first prompt and "
            f"one turn ({needed} tokens); use rollout.instructions=brief, a smaller generator.max_turn_tokens or "
            "another model"
        )
