"""Contract of environments, checked by random walks over the tasks that the environment itself hands out.

What the future of a state is, and what a copy of a state must do, says ``tsrflow.components.envs.futures``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args

from tsrflow import streams
from tsrflow.components.envs.futures import (
    DYNAMICS_SEEDS,
    ForkFaultError,
    Moment,
    Player,
    Walk,
    differ,
    forked_futures,
    shown,
)
from tsrflow.config.base import ForkCapability
from tsrflow.protocols import Env
from tsrflow.testing.contract import ContractError, name_of, require
from tsrflow.types import Split, Task

METHODS = (
    "instructions",
    "task",
    "reset",
    "seed_dynamics",
    "step",
    "parse_action",
    "legal_actions",
    "snapshot",
    "restore",
    "state_hash",
    "potential",
    "render_ansi",
)
NONSENSE = (
    "",
    " ",
    "no such action",
    "\x00\x1b[31m\x07",
    "<script>alert(1)</script>",
    "\u202e\ud800\U0001f980",
    "{}",
    "9" * 5000,
    "x" * 1_000_000,
)
"""Actions that no environment should stumble over; legal first actions with a control character are tried as well."""
FAR_INDEX = 1_000_003
T = TypeVar("T")


def check_env(
    env: Env,
    *,
    split: Split = "train",
    tasks: int = 6,
    steps: int = 24,
    seed: int = 0,
    fork: ForkCapability | None = None,
    deterministic: bool | None = None,
) -> None:
    """Raise ContractError for the first rule of ``Env`` that ``env`` breaks.

    Walks of up to ``steps`` random legal actions are played on the first ``tasks`` tasks of ``split``. ``fork`` and
    ``deterministic`` are what the environment promises; None takes them from ``env.config``, or assumes ``snapshot``
    and checks nothing that depends on whether ``step`` draws random numbers.
    """
    for name in METHODS:
        require(callable(getattr(env, name, None)), env, f"has no method {name}()")
    config = getattr(env, "config", None)
    fork = getattr(config, "fork_capability", "snapshot") if fork is None else fork
    deterministic = getattr(config, "deterministic", None) if deterministic is None else deterministic
    require(fork in get_args(ForkCapability), env, f"fork capability is {fork!r}; known are {get_args(ForkCapability)}")
    for brief in (True, False):
        text = _call(env, f"instructions({brief})", env.instructions, brief)
        require(
            isinstance(text, str) and bool(text.strip()), env, f"instructions({brief}) is {text!r}; it must be text"
        )
    chosen = _check_tasks(env, split, tasks)
    futures: dict[str, tuple[str, tuple[Moment, ...]]] = {}
    distinct = 1
    for task in chosen:
        walk = _check_walk(env, task, steps, streams.fold(seed, task.index))
        _check_nonsense(env, task, walk)
        _check_dynamics_seed(env, task, walk)
        if fork != "none":
            distinct = max(distinct, _check_forks(env, task, walk, chosen[-1], fork, deterministic))
        _check_hashes(env, task, walk, futures)
    if fork != "none" and deterministic is False:
        rule = f"says that step is random, but forks with {DYNAMICS_SEEDS} dynamics seeds all had the same future"
        require(distinct > 1, env, f"{rule}; seed_dynamics() must start an independent stream")


def _call(env: Env, what: str, function: Callable[..., T], *arguments: Any) -> T:
    try:
        return function(*arguments)
    except ContractError:
        raise
    except Exception as error:
        raise ContractError(f"{name_of(env)}: {what} raised {type(error).__name__}: {error}") from error


def _start(env: Env, task: Task) -> Moment:
    answer = _call(env, f"reset({task.id})", env.reset, task)
    valid = (
        isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], str) and isinstance(answer[1], dict)
    )
    require(valid, env, f"reset() returned {answer!r}; it must return (observation text, info dict)")
    return _look(env, answer[0], 0.0, False, False, answer[1])


def _step(env: Env, action: str) -> Moment:
    what = f"step({shown(action)})"
    answer: Any = _call(env, what, env.step, action)
    require(
        isinstance(answer, tuple) and len(answer) == 5,
        env,
        f"{what} returned {answer!r}; it must return (observation, reward, terminated, truncated, info)",
    )
    observation, reward, terminated, truncated, info = answer
    require(isinstance(observation, str), env, f"{what}: the observation is {observation!r}; it must be text")
    number = isinstance(reward, (int, float)) and not isinstance(reward, bool) and math.isfinite(reward)
    require(number, env, f"{what}: the reward is {reward!r}; it must be a finite number")
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        require(isinstance(flag, bool), env, f"{what}: {name} is {flag!r}; it must be True or False")
    require(isinstance(info, dict), env, f"{what}: info is {info!r}; it must be a dict")
    require(
        isinstance(info.get("success"), bool),
        env,
        f'{what}: info["success"] is {info.get("success")!r}; every step must say True or False',
    )
    return _look(env, observation, float(reward), terminated, truncated, info)


def _look(env: Env, observation: str, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]) -> Moment:
    key = _call(env, "state_hash()", env.state_hash)
    require(isinstance(key, str) and bool(key), env, f"state_hash() is {key!r}; it must be text")
    potential = _call(env, "potential()", env.potential)
    if potential is not None:
        inside = isinstance(potential, (int, float)) and -1.0 <= potential <= 1.0
        require(inside, env, f"potential() is {potential!r}; it must lie in [-1, 1] or be None")
    legal = _call(env, "legal_actions()", env.legal_actions)
    texts = isinstance(legal, Sequence) and not isinstance(legal, str) and all(isinstance(a, str) for a in legal)
    require(texts, env, f"legal_actions() is {legal!r}; it must be a sequence of texts")
    shown = _call(env, "render_ansi()", env.render_ansi)
    require(isinstance(shown, str), env, f"render_ansi() is {shown!r}; it must be text")
    rule = "looking changes the state: potential(), legal_actions(), render_ansi() and state_hash() must not"
    again = (env.state_hash(), env.potential(), tuple(env.legal_actions()))
    require(again == (key, potential, tuple(legal)), env, rule)
    success, invalid = info.get("success") is True, bool(info.get("invalid", False))
    return Moment(observation, reward, terminated, truncated, success, invalid, key, potential, tuple(legal))


_PLAYER = Player(_start, _step)


def _check_tasks(env: Env, split: Split, count: int) -> list[Task]:
    starts: dict[str, tuple[Split, int]] = {}
    chosen: list[Task] = []
    for part in get_args(Split):
        for index in range(4 * count if part == split else 2 * count):
            try:
                task = env.task(part, index)
            except IndexError:
                require(part != "train", env, f"task('train', {index}) raised IndexError; the train split must wrap")
                break
            except Exception as error:
                raise ContractError(
                    f"{name_of(env)}: task({part!r}, {index}) raised {type(error).__name__}: {error}"
                ) from error
            named = isinstance(task, Task) and (task.split, task.index) == (part, index)
            require(named, env, f"task({part!r}, {index}) is {task!r}; it must be a Task of that split and index")
            key = _start(env, task).state_hash
            other, number = starts.setdefault(key, (part, index))
            rule = f"{part} task {index} starts in the same state as {other} task {number}; splits must be disjoint"
            require(other == part, env, rule)
            again = _call(env, f"task({part!r}, {index})", env.task, part, index)
            require(again == task, env, f"task({part!r}, {index}) was {task!r} and then {again!r}; it must be pure")
            if part == split and index < count:
                chosen.append(task)
    require(bool(chosen), env, f"the {split} split has no task")
    _call(env, f"task('train', {FAR_INDEX})", env.task, "train", FAR_INDEX)
    return chosen


def _check_walk(env: Env, task: Task, steps: int, stream: int) -> Walk:
    """A random walk; then the same again after other things have happened."""
    moments, actions = [_start(env, task)], list[str]()
    while not moments[-1].done and len(actions) < steps:
        legal = moments[-1].legal
        require(bool(legal), env, f"{task.id}: legal_actions() is empty although the episode goes on")
        for action in legal:
            canonical = _call(env, f"parse_action({shown(action)})", env.parse_action, action)
            rule = f"parse_action({action!r}) is {canonical!r}; a legal action must be its own canonical form"
            require(canonical == action, env, rule)
        stream, uniform = streams.draw(stream)
        actions.append(legal[int(uniform * len(legal))])
        moments.append(_step(env, actions[-1]))
        rule = f"step({shown(actions[-1])}) was invalid although legal_actions() listed it"
        require(not moments[-1].invalid, env, rule)
        require(env.task(task.split, task.index) == task, env, "task() gives another task after steps; it must be pure")
    if moments[-1].done:
        require(not moments[-1].legal, env, f"legal_actions() is {moments[-1].legal} after the end; it must be empty")
        late = _step(env, actions[-1])
        rule = "a step after the end must change nothing, give reward 0 and info['invalid'] = True"
        unchanged = (late.state_hash, late.potential) == (moments[-1].state_hash, moments[-1].potential)
        require(late.invalid and late.reward == 0.0 and unchanged, env, rule)
    walk = Walk(tuple(actions), tuple(moments))
    difference = differ(walk.moments, _PLAYER.play(env, task, walk.actions))
    rule = f"the same actions on {task.id} had another outcome: {difference}; step may depend on the seed only"
    require(not difference, env, rule)
    for position, moment in enumerate(walk.moments[:-1]):
        _check_every_legal_action(env, task, walk.actions[:position], moment.legal)
    return walk


def _check_every_legal_action(env: Env, task: Task, before: Sequence[str], legal: Sequence[str]) -> None:
    """At most six of them, evenly spread, so that large action spaces stay quick."""
    for action in legal[:: max(1, len(legal) // 6)]:
        _PLAYER.play(env, task, before)
        moment = _step(env, action)
        rule = f"{task.id}: step({shown(action)}) was invalid although legal_actions() listed it"
        require(not moment.invalid, env, rule)


def _check_nonsense(env: Env, task: Task, walk: Walk) -> None:
    half = walk.half
    before, rest = walk.actions[:half], walk.actions[half:]
    here = _PLAYER.play(env, task, before)[-1]
    for text in (*NONSENSE, *(f"{action}\x00" for action in here.legal[:1])):
        parsed = _call(env, f"parse_action({shown(text)})", env.parse_action, text)
        require(
            parsed is None or isinstance(parsed, str),
            env,
            f"parse_action({shown(text)}) is {parsed!r}; it must be text or None",
        )
        if parsed is not None:
            continue
        what = f"step({shown(text)}), no action by parse_action(),"
        after = _step(env, text)
        require(after.invalid, env, f'{what} did not set info["invalid"]')
        require(after.reward == 0.0, env, f"{what} gave reward {after.reward}; it must be 0")
        require(not after.done, env, f"{what} ended the episode")
        unchanged = (after.state_hash, after.potential, after.legal) == (here.state_hash, here.potential, here.legal)
        require(unchanged, env, f"{what} changed the state")
    difference = differ(walk.moments[half + 1 :], [_step(env, action) for action in rest])
    require(not difference, env, f"after invalid actions the future is another one: {difference}")


def _check_dynamics_seed(env: Env, task: Task, walk: Walk) -> None:
    begun = _start(env, task)
    for number in (task.seed, 1):
        _call(env, f"seed_dynamics({number})", env.seed_dynamics, number)
        same = (env.state_hash(), env.potential()) == (begun.state_hash, begun.potential)
        require(same, env, "seed_dynamics() changed the state, its hash or its potential; it may only touch the stream")
    _start(env, task)
    env.seed_dynamics(task.seed)
    difference = differ(walk.moments[1:], [_step(env, action) for action in walk.actions])
    rule = f"reset() must start the dynamics stream at task.seed, but seeding it so changes the future: {difference}"
    require(not difference, env, rule)


def _check_forks(env: Env, task: Task, walk: Walk, elsewhere: Task, fork: Any, deterministic: bool | None) -> int:
    """Copies of a state in the middle of the walk; returns how many futures different dynamics seeds had."""
    try:
        futures = forked_futures(env, task, walk, elsewhere, fork, _PLAYER)
    except ForkFaultError as fault:
        raise ContractError(f"{name_of(env)}: {fault}") from fault
    distinct = len(set(futures))
    if deterministic:
        rule = "says that step is not random, but dynamics seeds change the future"
        require(distinct == 1, env, f"{rule}: {next(filter(None, (differ(futures[0], f) for f in futures)), '')}")
    return distinct


def _check_hashes(env: Env, task: Task, walk: Walk, futures: dict[str, tuple[str, tuple[Moment, ...]]]) -> None:
    """States with one hash must have one future, wherever and after whatever they were met."""
    for position, moment in enumerate(walk.moments[:-1]):
        _PLAYER.play(env, task, walk.actions[:position])
        env.seed_dynamics(7)
        seen: list[Moment] = []
        for choice in range(6):
            legal = seen[-1].legal if seen else moment.legal
            if not legal:
                break
            seen.append(_step(env, legal[choice % len(legal)]))
        where = f"{task.id} after {position} steps"
        first, known = futures.setdefault(moment.state_hash, (where, tuple(seen)))
        difference = differ(known, seen)
        rule = f"{where} has the state_hash of {first}, but another future ({difference}); hashes must tell them apart"
        require(not difference, env, rule)
