"""Every rule of the environment contract, broken on purpose by a small environment."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tsrflow import streams
from tsrflow.components.envs.frozenlake import FrozenLake, FrozenLakeConfig
from tsrflow.components.envs.sokoban import Sokoban, SokobanConfig
from tsrflow.config.base import EnvConfig
from tsrflow.testing import ContractError, check_env
from tsrflow.testing.check_env import NONSENSE
from tsrflow.types import Split, Task

LENGTH = 9
BUDGET = 8


class Corridor:
    """Walk to one end of a corridor of nine cells; a step goes astray with probability ``slip``."""

    slip = 0.0

    def __init__(self) -> None:
        self.place, self.goal, self.used, self.over, self.stream = 4, 0, 0, True, 0
        self.config = EnvConfig(name="corridor")

    def instructions(self, brief: bool) -> str:
        return "go" if brief else "Walk to the goal."

    def task(self, split: Split, index: int) -> Task:
        part = ("train", "validation", "test").index(split)
        if index >= 3 and split == "test":
            raise IndexError("three test tasks only")
        return Task("corridor", split, index, 6 * (index % 1000) + 2 * part + index % 2)

    def reset(self, task: Task) -> tuple[str, dict[str, Any]]:
        self.instance = task.seed
        self.goal = 0 if task.seed % 2 else LENGTH - 1
        self.place, self.used, self.over = 4, 0, False
        self.seed_dynamics(task.seed)
        return self.observation(), {}

    def observation(self) -> str:
        return f"{self.place} {self.goal}"

    def seed_dynamics(self, seed: int) -> None:
        self.stream = streams.fold(seed)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.over or action not in ("east", "west"):
            return self.observation(), 0.0, False, False, {"success": False, "invalid": True}
        self.stream, uniform = streams.draw(self.stream)
        forward = (action == "east") == (uniform >= self.slip)
        self.place = min(max(self.place + (1 if forward else -1), 0), LENGTH - 1)
        self.used += 1
        success = self.place == self.goal
        truncated = self.used >= BUDGET and not success
        self.over = success or truncated
        return self.observation(), float(success), success, truncated, {"success": success}

    def parse_action(self, text: str) -> str | None:
        text = text.strip().lower()
        return text if text in ("east", "west") else None

    def legal_actions(self) -> Sequence[str]:
        return [] if self.over else ["east", "west"]

    def snapshot(self) -> Any:
        return self.instance, self.place, self.goal, self.used, self.over, self.stream

    def restore(self, snapshot: Any) -> None:
        self.instance, self.place, self.goal, self.used, self.over, self.stream = snapshot

    def state_hash(self) -> str:
        return f"{self.instance} {self.place} {self.used}"

    def potential(self) -> float | None:
        return -abs(self.place - self.goal) / LENGTH

    def render_ansi(self) -> str:
        return self.observation()


class Slippery(Corridor):
    """The same with a random step."""

    slip = 0.3

    class Config(EnvConfig):
        name: str = "slippery"

        @property
        def deterministic(self) -> bool:
            return False

    def __init__(self) -> None:
        super().__init__()
        self.config = self.Config()


@pytest.mark.parametrize(
    "env",
    [
        Corridor(),
        Slippery(),
        FrozenLake(FrozenLakeConfig()),
        FrozenLake(FrozenLakeConfig(slip=0.8, max_turns=8, observation="grid+coords", size=6)),
        FrozenLake(FrozenLakeConfig(slip=1 / 3, max_actions=10)),
        Sokoban(SokobanConfig()),
        Sokoban(SokobanConfig(size=8, boxes=2, max_turns=10, observation="grid+coords")),
    ],
)
def test_environments_that_keep_the_contract(env: Any) -> None:
    for split in ("train", "validation", "test"):
        check_env(env, split=split, tasks=3)


@pytest.mark.parametrize("fork", ["snapshot", "deepcopy", "replay", "none"])
@pytest.mark.parametrize("kind", [Corridor, Slippery])
def test_all_fork_capabilities_are_checked(kind: type[Corridor], fork: Any) -> None:
    check_env(kind(), fork=fork)


def test_what_is_not_promised_is_not_asked_for() -> None:
    class Open(Slippery):
        config: Any = None

        def __init__(self) -> None:
            super().__init__()
            del self.config

    check_env(Open())
    with pytest.raises(ContractError, match="says that step is not random, but dynamics seeds change the future"):
        check_env(Open(), deterministic=True)


def broken(kind: type[Corridor] = Corridor, /, **members: Any) -> Any:
    """``kind`` with some of its members replaced; functions get the original class as ``Base``."""
    return type("Broken", (kind,), members)()


def altered(position: int, value: Any) -> Callable[..., Any]:
    """A step whose ``position``-th part is ``value`` (called with the original part if it is a function)."""

    def step(self: Corridor, action: str) -> Any:
        parts = list(Corridor.step(self, action))
        parts[position] = value(parts[position]) if callable(value) else value
        return tuple(parts)

    return step


COUNTER = itertools.count()


def unseeded_step(self: Corridor, action: str) -> Any:
    observation, *rest = Corridor.step(self, action)
    return (f"{observation} {random.random()}", *rest)


def remembering_reset(self: Corridor, task: Task) -> Any:
    used = self.used
    answer = Corridor.reset(self, task)
    self.used = min(used, 3)
    return answer


def mutable_snapshot(self: Any) -> Any:
    self.trail = [*getattr(self, "trail", [])[:0], self.place]
    self.kept = [Corridor.snapshot(self)]
    return self.kept


def step_into_snapshot(self: Any, action: str) -> Any:
    answer = Corridor.step(self, action)
    if hasattr(self, "kept"):
        self.kept[0] = Corridor.snapshot(self)
    return answer


def eager_step(self: Corridor, action: str) -> Any:
    if action in ("east", "west"):
        return Corridor.step(self, action)
    self.place = max(self.place - 1, 0)
    return self.observation(), 0.0, False, False, {"success": False, "invalid": True}


def answering(**changes: Any) -> Callable[..., Any]:
    """A step that answers what is no action with changes to (reward, terminated, info)."""

    def step(self: Corridor, action: str) -> Any:
        observation, reward, terminated, truncated, info = Corridor.step(self, action)
        if info.get("invalid") and not self.over:
            reward, terminated = changes.get("reward", reward), changes.get("terminated", terminated)
            info = changes.get("info", info)
        return observation, reward, terminated, truncated, info

    return step


def choking_step(self: Corridor, action: str) -> Any:
    if len(action) > 100_000:
        raise MemoryError("too long")
    return Corridor.step(self, action)


def zombie_step(self: Corridor, action: str) -> Any:
    self.over = False
    return Corridor.step(self, action)


def stepping_task(self: Corridor, split: Split, index: int) -> Task:
    task = Corridor.task(self, split, index)
    return Task(task.env, split, index, task.seed + 6000 * next(COUNTER))


def finite_train(self: Corridor, split: Split, index: int) -> Task:
    if index > 500:
        raise IndexError("500 tasks")
    return Corridor.task(self, split, index)


def leaking_task(self: Corridor, split: Split, index: int) -> Task:
    return Task("corridor", split, index, index % 3)


def poking_potential(self: Corridor) -> float:
    self.place = min(self.place + 1, LENGTH - 1)
    return 0.0


def moving_seed(self: Corridor, seed: int) -> None:
    Corridor.seed_dynamics(self, seed)
    if seed == 1:
        self.place = 4 if self.place != 4 else 5


def offset_reset(self: Corridor, task: Task) -> Any:
    answer = Corridor.reset(self, task)
    self.stream = streams.fold(task.seed, "other")
    return answer


def streamless_snapshot(self: Corridor) -> Any:
    return self.instance, self.place, self.goal, self.used, self.over, 5


def deaf_seed(self: Corridor, seed: int) -> None:
    self.stream = streams.fold(self.instance)


def stalling_legal(self: Corridor) -> list[str]:
    return [] if self.used == 2 else Corridor.legal_actions(self)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (broken(potential=None), r"has no method potential\(\)"),
        (broken(instructions=lambda self, brief: "" if brief else "x"), r"instructions\(True\) is ''; it must be text"),
        (broken(instructions=lambda self, brief: 1 / 0), r"instructions\(True\) raised ZeroDivisionError"),
        (broken(task=stepping_task), "it must be pure"),
        (broken(task=lambda self, split, index: index), "is 0; it must be a Task of that split and index"),
        (broken(task=finite_train), r"task\('train', 1000003\) raised IndexError"),
        (
            broken(task=leaking_task),
            "validation task 0 starts in the same state as train task 0; splits must be disjoint",
        ),
        (broken(reset=lambda self, task: Corridor.reset(self, task)[0]), r"reset\(\) returned .*must return \(obs"),
        (broken(reset=remembering_reset), "had another outcome|starts in the same state|restored"),
        (
            broken(step=lambda self, action: Corridor.step(self, action)[:4]),
            r"returned .*; it must return \(observation, r",
        ),
        (broken(step=altered(0, 3)), r"step\('\w+'\): the observation is 3; it must be text"),
        (broken(step=altered(1, True)), "the reward is True; it must be a finite number"),
        (broken(step=altered(1, float("nan"))), "the reward is nan; it must be a finite number"),
        (broken(step=altered(1, "1")), "the reward is '1'; it must be a finite number"),
        (broken(step=altered(2, int)), "terminated is 0; it must be True or False"),
        (broken(step=altered(3, None)), "truncated is None; it must be True or False"),
        (broken(step=altered(4, None)), "info is None; it must be a dict"),
        (broken(step=altered(4, {})), r'info\["success"\] is None; every step must say True or False'),
        (broken(step=altered(4, {"success": 1})), r'info\["success"\] is 1; every step must say True or False'),
        (broken(step=lambda self, action: {}[action]), r"step\('\w+'\) raised KeyError"),
        (broken(step=unseeded_step), "had another outcome: observation at step 1 is"),
        (broken(state_hash=lambda self: ""), r"state_hash\(\) is ''; it must be text"),
        (broken(state_hash=lambda self: hash(self.place)), r"state_hash\(\) is -?\d+; it must be text"),
        (broken(state_hash=lambda self: f"{next(COUNTER)}"), "looking changes the state"),
        (
            broken(state_hash=lambda self: f"{self.instance} {self.place}"),
            "but another future .*; hashes must tell them",
        ),
        (broken(Slippery, state_hash=lambda self: str(self.snapshot())), r"seed_dynamics\(\) changed the state"),
        (broken(potential=lambda self: 1.5), r"potential\(\) is 1.5; it must lie in \[-1, 1\] or be None"),
        (broken(potential=lambda self: float("nan")), r"potential\(\) is nan; it must lie in"),
        (broken(potential=poking_potential), "looking changes the state"),
        (broken(legal_actions=lambda self: "east"), r"legal_actions\(\) is 'east'; it must be a sequence of texts"),
        (
            broken(legal_actions=lambda self: ["east", "up"]),
            r"parse_action\('up'\) is None; a legal action must be its own",
        ),
        (
            broken(legal_actions=lambda self: ["East"]),
            r"parse_action\('East'\) is 'east'; a legal action must be its own",
        ),
        (broken(legal_actions=stalling_legal), r"legal_actions\(\) is empty although the episode goes on"),
        (broken(legal_actions=lambda self: ["west", "east"]), "after the end; it must be empty"),
        (
            broken(legal_actions=lambda self: ["no"], parse_action=lambda self, text: text),
            r"step\('no'\) was invalid although legal_actions\(\) listed it",
        ),
        (broken(step=zombie_step), "a step after the end must change nothing"),
        (
            broken(parse_action=lambda self, text: {"east": "east", "west": "west"}[text]),
            r"parse_action\(''\) raised KeyError",
        ),
        (broken(parse_action=lambda self, text: text in ("east", "west")), r"parse_action\('east'\) is True; a legal"),
        (
            broken(parse_action=lambda self, text: Corridor.parse_action(self, text) or False),
            r"parse_action\(''\) is False; it must be text or None",
        ),
        (broken(step=choking_step), r"step\('x+'… \(1000000 characters\)\) raised MemoryError: too long"),
        (broken(step=eager_step), "no action by parse_action.*changed the state|change nothing"),
        (broken(step=answering(reward=-0.1)), "gave reward -0.1; it must be 0"),
        (broken(step=answering(terminated=True)), "ended the episode"),
        (broken(step=answering(info={"success": False})), r'did not set info\["invalid"\]'),
        (broken(seed_dynamics=moving_seed), r"seed_dynamics\(\) changed the state"),
        (broken(Slippery, reset=offset_reset), r"reset\(\) must start the dynamics stream at task.seed"),
        (broken(Slippery, snapshot=streamless_snapshot), "must have the same future .dynamics stream included."),
        (broken(restore=lambda self, snapshot: None), "a state restored after the same episode went on has state_hash"),
        (
            broken(
                snapshot=mutable_snapshot, step=step_into_snapshot, restore=lambda self, s: Corridor.restore(self, s[0])
            ),
            "a state restored after the same",
        ),
        (broken(snapshot=lambda self: 1 / 0), r"snapshot\(\) raised ZeroDivisionError"),
        (
            broken(Slippery, seed_dynamics=deaf_seed),
            r"dynamics seeds all had the same future; seed_dynamics\(\) must start",
        ),
        (broken(slip=0.3), "says that step is not random, but dynamics seeds change the future"),
        (broken(render_ansi=lambda self: None), r"render_ansi\(\) is None; it must be text"),
    ],
)
def test_each_broken_rule_has_its_message(env: Any, message: str) -> None:
    with pytest.raises(ContractError, match=f"^Broken: .*({message})"):
        check_env(env)


def test_what_is_no_environment_is_named() -> None:
    with pytest.raises(ContractError, match=r"object: has no method instructions\(\)"):
        check_env(object())  # type: ignore[arg-type]


def test_a_capability_that_does_not_exist_is_named() -> None:
    with pytest.raises(ContractError, match="fork capability is 'copy'; known are"):
        check_env(Corridor(), fork="copy")  # type: ignore[arg-type]


def test_a_split_without_tasks_is_named() -> None:
    def no_tests(self: Corridor, split: Split, index: int) -> Task:
        if split == "test":
            raise IndexError
        return Corridor.task(self, split, index)

    with pytest.raises(ContractError, match="the test split has no task"):
        check_env(broken(task=no_tests), split="test")


def test_replaying_needs_seeded_steps_only() -> None:
    env = broken(Slippery, snapshot=lambda self: 1 / 0, restore=lambda self, snapshot: 1 / 0)
    check_env(env, fork="replay")


def test_nonsense_holds_markup_control_characters_and_a_megabyte() -> None:
    assert max(map(len, NONSENSE)) == 1_000_000
    assert any("\x00" in text for text in NONSENSE)
    assert any("<script>" in text for text in NONSENSE)
