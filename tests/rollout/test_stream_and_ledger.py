"""The search's own random stream, and the cost ledger."""

from __future__ import annotations

import time

import pytest

from tsrflow.rollout.ledger import Ledger
from tsrflow.rollout.stream import Stream
from tsrflow.types import Cost, Selection


def test_a_stream_is_a_function_of_its_seed() -> None:
    one, same, other = Stream(3), Stream(3), Stream(4)
    orders = [list(stream.permutation(20)) for stream in (one, same, other)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == list(range(20))
    assert list(one.permutation(20)) != orders[0]
    assert list(one.permutation(0)) == []


def test_all_orders_are_equally_likely() -> None:
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(3000):
        order = tuple(Stream(seed).permutation(3))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    chi_square = sum((count - 500) ** 2 / 500 for count in counts.values())
    assert chi_square < 20.5  # 99.9 % quantile at 5 degrees of freedom


def test_selections_are_logged_in_order() -> None:
    stream = Stream(0)
    log = [Selection((1, 2), (2,), False), Selection((3, 4), (3,), True)]
    for selection in log:
        stream.record(selection)
    assert stream.selections == log


def test_a_ledger_adds_up_and_its_total_is_a_snapshot() -> None:
    ledger = Ledger()
    before = ledger.total
    ledger.add(llm_calls=2, decode_tokens=7)
    ledger.add(llm_calls=1, env_steps=3)
    assert before == Cost()
    assert ledger.total == Cost(llm_calls=3, decode_tokens=7, env_steps=3)
    assert ledger.total - Cost(llm_calls=3) == Cost(decode_tokens=7, env_steps=3)
    assert ledger.total.generated_tokens == 7
    with pytest.raises(TypeError):
        ledger.add(coffee=1)


def test_time_is_kept_even_where_the_work_fails() -> None:
    ledger = Ledger()
    with pytest.raises(KeyError), ledger.seconds("update_seconds"):
        time.sleep(0.01)
        raise KeyError
    assert 0.009 < ledger.total.update_seconds < 5
    assert ledger.total.rollout_seconds == 0
