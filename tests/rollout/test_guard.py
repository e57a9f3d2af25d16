"""Errors and hangs cost one job; an abandoned thread never gets its hands on anything that is still used."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tsrflow.errors import RunError
from tsrflow.rollout.guard import Failure, Guard

LIMIT = 0.6


class Bench:
    """Counts the resources a guard asked for."""

    def __init__(self) -> None:
        self.made: list[list[str]] = []

    def make(self) -> list[str]:
        self.made.append([])
        return self.made[-1]


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def guard(bench: Bench) -> Iterator[Guard[list[str]]]:
    guard = Guard(LIMIT, bench.make)
    yield guard
    guard.close()


def job(name: str, act: Callable[[], object] = lambda: None):  # type: ignore[no-untyped-def]
    def run(resource: list[str], beat: Callable[[], None]) -> str:
        act()
        resource.append(name)
        return name

    return run


def test_results_come_in_the_order_of_the_jobs(guard: Guard[list[str]]) -> None:
    assert guard.run([job(name) for name in "abc"]) == ["a", "b", "c"]
    assert guard.run([]) == []


def test_one_thread_and_one_resource_serve_all_calls(guard: Guard[list[str]], bench: Bench) -> None:
    guard.run([job("a")])
    guard.run([job("b")])
    assert bench.made == [["a", "b"]]


@pytest.mark.parametrize("error", [ValueError("bad\nmove"), SystemExit(3), KeyboardInterrupt(), RecursionError()])
def test_a_job_that_raises_is_one_failure_on_one_line(guard: Guard[list[str]], error: BaseException) -> None:
    def fail() -> None:
        raise error

    first, second, third = guard.run([job("a"), job("b", fail), job("c")])
    assert (first, third) == ("a", "c")
    assert isinstance(second, Failure)
    assert not second.hung
    assert second.reason.startswith(type(error).__name__)
    assert "\n" not in second.reason


def test_an_error_of_the_package_itself_is_raised(guard: Guard[list[str]]) -> None:
    def fail() -> None:
        raise RunError("scorer broke")

    with pytest.raises(RunError, match="scorer broke"):
        guard.run([job("a"), job("b", fail)])
    assert guard.run([job("c")]) == ["c"]


def test_a_hang_fails_its_job_and_the_rest_goes_on_elsewhere(guard: Guard[list[str]], bench: Bench) -> None:
    release = threading.Event()
    first, second, third = guard.run([job("a"), job("b", release.wait), job("c")])
    assert (first, third) == ("a", "c")
    assert second == Failure(f"step took longer than {LIMIT:g} s", hung=True)
    assert bench.made == [["a"], ["c"]]
    release.set()


def test_an_abandoned_thread_that_wakes_up_touches_nothing_new(guard: Guard[list[str]], bench: Bench) -> None:
    release, woke = threading.Event(), threading.Event()

    def hang(resource: list[str], beat: Callable[[], None]) -> None:
        release.wait()
        resource.append("late")
        woke.set()
        beat()
        resource.append("never")

    before = threading.active_count()
    results = guard.run([hang, job("b")])
    release.set()
    assert woke.wait(5)
    assert guard.run([job("c")]) == ["c"]
    assert bench.made == [["late"], ["b", "c"]]
    assert results[1] == "b"
    deadline = time.monotonic() + 5
    while threading.active_count() > before + 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before + 1  # the abandoned thread has ended


def test_work_with_signs_of_life_may_take_longer_than_the_limit(guard: Guard[list[str]]) -> None:
    def slow(resource: list[str], beat: Callable[[], None]) -> str:
        for _ in range(6):
            beat()
            time.sleep(LIMIT / 3)
        return "done"

    assert guard.run([slow]) == ["done"]


def test_several_hangs_in_one_call_cost_one_job_each(guard: Guard[list[str]], bench: Bench) -> None:
    release = threading.Event()
    results = guard.run([job("a", release.wait), job("b"), job("c", release.wait), job("d")])
    assert [result if isinstance(result, str) else result.hung for result in results] == [True, "b", True, "d"]
    assert len(bench.made) == 3
    release.set()


def test_an_interrupted_wait_does_not_leave_results_for_the_next_call(
    guard: Guard[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    def interrupted(self: object, worker: object, batch: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Guard, "_wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            guard.run([job("old", release.wait)])
    release.set()
    assert guard.run([job("new")]) == ["new"]
