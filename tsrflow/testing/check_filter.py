"""Contract of instance filters, checked on imagined groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from tsrflow import streams
from tsrflow.protocols import InstanceFilter
from tsrflow.testing.contract import ContractError, name_of, require
from tsrflow.testing.imagined import imagined_group
from tsrflow.types import Group

_SPECIAL: dict[str, list[list[float]]] = {
    "no group": [],
    "groups without spread": [[0.0] * 4, [1.0] * 4, [0.3] * 4],
    "groups of one member": [[0.0], [1.0]],
    "a group that lost all its trajectories": [[], [0.0, 1.0]],
    "one loser among equals": [[0.0, *[0.95] * 7], [0.95] * 8],
}


def check_filter(make: Callable[[], InstanceFilter], *, steps: int = 4) -> None:
    """Raise ContractError for the first rule of ``InstanceFilter`` that what ``make()`` returns breaks.

    ``make`` builds a fresh filter every time; a filter may remember earlier steps, so it is followed over several.
    """
    batches = [_batch(step) for step in range(2 * steps)]
    for what, returns in _SPECIAL.items():
        _decide(make(), [imagined_group(i, r) for i, r in enumerate(returns)], what)
    one, other = make(), make()
    require(one is not other, one, "make() returned the same filter twice; it must build a fresh one")
    for step, batch in enumerate(batches[:steps]):
        rule = f"two fresh filters decide differently about the same groups at step {step}"
        require(_decide(one, batch) == _decide(other, batch), one, rule)
    state = one.state_dict()
    try:
        kept = json.loads(json.dumps(state))
    except (TypeError, ValueError) as error:
        raise ContractError(f"{name_of(one)}: state_dict() cannot be written as JSON: {error}") from error
    require(isinstance(state, dict), one, f"state_dict() is {state!r}; it must be a dict")
    resumed = make()
    resumed.load_state_dict(kept)
    require(resumed.state_dict() == kept, one, "load_state_dict() does not restore what state_dict() gave")
    for step, batch in enumerate(batches[steps:], start=steps):
        rule = f"resumed from its state it decides differently at step {step}; state_dict() lacks something"
        require(_decide(one, batch) == _decide(resumed, batch), one, rule)


def _batch(step: int) -> list[Group]:
    groups = []
    for number in range(6):
        rows = [streams.fold(step, number, member) for member in range(4)]
        returns = [(row % 5) / 4 for row in rows] if number % 3 else [0.25] * 4
        groups.append(imagined_group(10 * step + number, returns, [row % 2 == 0 for row in rows]))
    return groups


def _decide(instance_filter: InstanceFilter, groups: Sequence[Group], what: str = "ordinary groups") -> list[bool]:
    before = _contents(groups)
    try:
        decisions = instance_filter.admit(groups)
    except Exception as error:
        message = f"admit() raised {type(error).__name__} for {what}: {error}"
        raise ContractError(f"{name_of(instance_filter)}: {message}") from error
    require(
        isinstance(decisions, list) and all(isinstance(decision, bool) for decision in decisions),
        instance_filter,
        f"admit() returned {decisions!r} for {what}; it must return a list of True and False",
    )
    rule = f"admit() returned {len(decisions)} decisions for {len(groups)} groups ({what})"
    require(len(decisions) == len(groups), instance_filter, rule)
    require(_contents(groups) == before, instance_filter, f"admit() changed the groups ({what})")
    return decisions


def _contents(groups: Sequence[Group]) -> list[object]:
    return [
        (
            group.id,
            *(t.turn_rewards.tobytes() + t.weights.tobytes() + t.token_ids.tobytes() for t in group.trajectories),
        )
        for group in groups
    ]
