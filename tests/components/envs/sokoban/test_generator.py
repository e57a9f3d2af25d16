"""Generated levels: solvable, of the length asked for, the same for the same seed, in one split only."""

from __future__ import annotations

import hashlib
from typing import get_args

import pytest

from tests.components.envs.sokoban import brute
from tsrflow.components.envs.sokoban import generator
from tsrflow.components.envs.sokoban.generator import generate
from tsrflow.components.envs.sokoban.solver import solve
from tsrflow.components.envs.splits import split_of
from tsrflow.types import Split

DEFAULT = (6, 1, 100, 3, 10)
FIRST_LEVELS = "058e57e6a94bc544"
"""Of the texts of the first hundred training levels: a change here changes every run on generated levels."""


def test_ten_thousand_seeds_give_solvable_levels_of_the_length_asked_for() -> None:
    lengths: dict[int, int] = {}
    for seed in range(10_000):
        level = generate(seed, "train", *DEFAULT)
        found = solve(level, longest=10)
        assert found.actions is not None, level.text()
        lengths[len(found.actions)] = lengths.get(len(found.actions), 0) + 1
    assert min(lengths) == 3
    assert max(lengths) == 10
    assert all(lengths[n] >= 100 for n in range(3, 9))


def test_brute_force_agrees_that_they_can_be_solved() -> None:
    for seed in range(150):
        moves = brute.shortest(generate(seed, "test", *DEFAULT))
        assert moves is not None
        assert 3 <= moves <= 10


def test_the_same_seed_gives_the_same_level_in_every_process() -> None:
    text = "\n\n".join(generate(seed, "train", *DEFAULT).text() for seed in range(100))
    generate.cache_clear()
    assert "\n\n".join(generate(seed, "train", *DEFAULT).text() for seed in range(100)) == text
    assert hashlib.blake2b(text.encode(), digest_size=8).hexdigest() == FIRST_LEVELS


@pytest.mark.parametrize(
    ("size", "boxes", "depth", "least", "most", "seeds"),
    [
        (5, 1, 50, 1, 12, 60),
        (6, 2, 100, 2, 20, 60),
        (7, 3, 200, 5, 40, 30),
        (8, 2, 200, 6, 20, 30),
        (10, 4, 300, 5, 60, 4),
    ],
)
def test_sizes_boxes_and_lengths_follow_the_config(
    size: int, boxes: int, depth: int, least: int, most: int, seeds: int
) -> None:
    for split in get_args(Split):
        for seed in range(seeds):
            level = generate(seed, split, size, boxes, depth, least, most)
            assert (level.height, level.width, len(level.boxes)) == (size, size, boxes)
            assert not set(level.boxes) & set(level.targets)
            found = solve(level, longest=most)
            assert found.actions is not None
            assert len(found.actions) >= least
            assert split_of(level.text()) == split


def test_deeper_reverse_play_gives_longer_solutions() -> None:
    def mean(depth: int) -> float:
        found = [solve(generate(seed, "train", 8, 1, depth, 1, 60)).actions for seed in range(80)]
        return sum(len(actions or ()) for actions in found) / len(found)

    assert mean(15) < mean(100) < mean(800)


def test_impossible_wishes_end_in_a_solvable_level() -> None:
    level = generate(0, "train", 5, 1, 10, 90, 100)
    assert solve(level).actions is not None


@pytest.mark.parametrize("boxes", [1, 2, 3, 4])
@pytest.mark.parametrize("split", get_args(Split))
def test_the_last_resort_can_be_solved(split: Split, boxes: int) -> None:
    for seed in range(20):
        level = generator._last_resort(generator._Dice(seed), split, 6, boxes)
        assert brute.shortest(level) is not None
        assert split_of(level.text()) == split
