"""Contract of scorers, checked on turns that are played at random in a real environment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tsrflow import streams
from tsrflow.protocols import Env, Scorer
from tsrflow.testing.contract import ContractError, name_of, require
from tsrflow.testing.scripted import TableEnv
from tsrflow.types import ScoringContext, Turn

_TABLE = {"a": (0.5, False, False, 0.2), "ab": (1.0, True, True, 0.0), "b": (0.0, True, False, -0.5)}


def check_scorer(scorer: Scorer, env: Env | None = None, *, tasks: int = 4, turns: int = 4) -> None:
    """Raise ContractError for the first rule of ``Scorer`` that ``scorer`` breaks.

    ``env`` is the environment it is meant for; without one it is checked on a small table world. A scorer must also
    manage where an environment has no potential, and after a turn in which nothing was done.
    """
    require(callable(getattr(scorer, "score", None)), scorer, "has no method score()")
    privileged = getattr(scorer, "privileged", None)
    require(
        isinstance(privileged, bool),
        scorer,
        f"privileged is {privileged!r}; it must say True or False (class attribute)",
    )
    stage = TableEnv(_TABLE) if env is None else env
    contexts, scores = [], []
    for context in _play(stage, tasks, turns, scorer.privileged):
        before = _state(stage)
        (score,) = _ask(scorer, [context])
        (again,) = _ask(scorer, [context])
        require(score == again, scorer, f"scored the same prefix {score} and then {again}; it must be a pure function")
        require(_state(stage) == before, scorer, "changed the environment; a scorer may look at it but not touch it")
        contexts.append(context)
        scores.append(score)
    require(bool(contexts), stage, "offers no legal action at the start of its first tasks, so nothing can be scored")
    if not scorer.privileged:  # privileged ones are asked one by one, while the environment stands in that state
        together = _ask(scorer, contexts)
        rule = "a prefix is scored differently beside others; scores must not depend on the batch"
        require(together == scores, scorer, rule)
        require(_ask(scorer, contexts[::-1]) == scores[::-1], scorer, rule)


def _play(env: Env, tasks: int, turns: int, privileged: bool) -> Iterator[ScoringContext]:
    for index in range(tasks):
        task = env.task("train", index)
        observation, _ = env.reset(task)
        env.seed_dynamics(task.seed)
        shown = env if privileged else None
        history: tuple[tuple[str, ...], ...] = ()
        total, finished = 0.0, False
        for depth in range(1, turns + 1):
            legal = list(env.legal_actions())
            if finished or not legal:
                break
            idle = ScoringContext(
                task=task,
                depth=depth,
                max_turns=turns,
                turn=Turn("", (), False),
                observation=observation,
                reward=0.0,
                penalty=-0.1,
                discounted=total - 0.1,
                potential=env.potential(),
                done=depth == turns,
                success=False,
                history=(*history, ()),
                info={},
                env=shown,
            )
            yield idle
            yield replace(idle, potential=None)
            action = legal[streams.fold(task.seed, depth) % len(legal)]
            observation, reward, terminated, truncated, info = env.step(action)
            total += float(reward)
            history = (*history, (action,))
            finished = terminated or truncated
            yield replace(
                idle,
                turn=Turn(action, (action,), True),
                observation=observation,
                reward=float(reward),
                penalty=0.0,
                discounted=total,
                potential=env.potential(),
                done=finished or depth == turns,
                success=bool(terminated and info.get("success", False)),
                history=history,
                info=info,
            )


def _state(env: Env) -> tuple[object, ...]:
    return env.state_hash(), env.potential(), tuple(env.legal_actions())


def _ask(scorer: Scorer, contexts: Sequence[ScoringContext]) -> list[float]:
    try:
        answer = list(scorer.score(contexts))
    except Exception as error:
        last = contexts[-1]
        what = f"task {last.task.id}, turn {last.depth}, actions {last.turn.actions}, potential {last.potential}"
        raise ContractError(f"{name_of(scorer)}: score() raised {type(error).__name__}: {error} ({what})") from error
    require(
        len(answer) == len(contexts), scorer, f"score() returned {len(answer)} numbers for {len(contexts)} contexts"
    )
    scores = []
    for value in answer:
        try:
            number = math.nan if isinstance(value, (bool, str)) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        require(math.isfinite(number), scorer, f"score() returned {value!r}; every score must be a finite number")
        scores.append(number)
    return scores
