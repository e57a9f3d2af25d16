"""Level files: Boxoban's format and what people write, with line numbers where something is wrong."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.components.envs.sokoban import brute
from tsrflow.components.envs.sokoban import Sokoban, SokobanConfig
from tsrflow.components.envs.sokoban.board import NEVER, board_of
from tsrflow.components.envs.sokoban.files import load_levels, read_levels
from tsrflow.components.envs.sokoban.level import RAGEN, LevelError, parse
from tsrflow.components.envs.sokoban.progress import moves_left, potential
from tsrflow.components.envs.sokoban.solver import lower_bound, solve
from tsrflow.types import Split

BOXOBAN = Path(__file__).resolve().parents[4] / ".." / "shared" / "boxoban"
BOXOBAN_FILES = sorted(BOXOBAN.glob("*.txt*")) if BOXOBAN.is_dir() else []
TWO = "; 0\n#####\n#@$.#\n#####\n\n; 1\n######\n#+ $*#\n######\n"


def written(folder: Path, text: str | bytes, name: str = "levels.txt") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize(
    "text",
    [
        TWO,
        TWO.replace("\n", "\r\n"),
        TWO.replace("; 0\n", "").replace("; 1\n", ""),
        "\ufeff" + TWO,
        "Author: somebody\nlevel 1\n" + TWO + "\n\n; the end",
        TWO.replace(" ", "-"),
        TWO.translate(str.maketrans("@$.+*", "PXOS√")).replace("; 0", "// 0"),
    ],
)
def test_levels_are_read(tmp_path: Path, text: str) -> None:
    levels = read_levels(written(tmp_path, text))
    assert [level.text() for level in levels] == ["#####\n#@$.#\n#####", "######\n#+ $*#\n######"]
    assert levels[1].text(RAGEN) == "######\n#S_X√#\n######"


def test_gzipped_files_and_folders_are_read(tmp_path: Path) -> None:
    written(tmp_path, gzip.compress(TWO.encode()), "b.txt.gz")
    written(tmp_path, "#####\n#.$@#\n#####", "a.txt")
    written(tmp_path, "not a level", "README.md")
    levels = load_levels(str(tmp_path))
    assert [len(level.boxes) for level in levels] == [1, 1, 2]
    assert levels[0].text() == "#####\n#.$@#\n#####"


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = written(tmp_path, TWO)
    assert len(load_levels(str(file))) == 2
    written(tmp_path, TWO + TWO)
    os.utime(file, (1, 1))
    assert len(load_levels(str(file))) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("; 0\n#####\n#@$?#\n#####", r"levels.txt, line 3: unknown symbol '\?' in column 4; known are # . \$ \* @ \+"),
        ("\n\n; 0\n#####\n#@$.#\n### #\n#   #", "line 7: the wall around the level is open in column 2"),
        ("#####\n#  $#\n# . #\n#####", "line 1: 0 players; a level has one"),
        (TWO + "\n#####\n#@@$#\n# . #\n#####", "line 11: 2 players; a level has one"),
        ("#####\n#@ .#\n#####", "line 1: 0 boxes and 1 targets; there must be as many of both, at least one"),
        ("#####\n#@$ #\n#####", "line 1: 1 boxes and 0 targets"),
        ("#####\n#@$.\n#####", "line 2: the wall around the level is open in column 4"),
        ("@$.", "line 1: the wall around the level is open in column 1"),
        ("; nothing\n", "no level found; expected rows of # . "),
        ("", "no level found"),
        (b"#####\n#@\xff.#\n", "line 2: not UTF-8 text"),
        (b"\x1f\x8bnot gzip", "cannot be read"),
        (gzip.compress(TWO.encode())[:-9], "cannot be read"),
    ],
)
def test_a_bad_file_gives_one_message_with_its_place(tmp_path: Path, text: str | bytes, message: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ValueError, match=message):
        load_levels(str(file))
    with pytest.raises(ValidationError, match=message):
        SokobanConfig(levels=str(file))


def test_missing_files_and_empty_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=r"no such file or folder: .*nowhere\.txt"):
        SokobanConfig(levels=str(tmp_path / "nowhere.txt"))
    with pytest.raises(ValidationError, match="the folder has no"):
        SokobanConfig(levels=str(tmp_path))


def test_short_rows_are_filled_and_outer_floor_is_wall() -> None:
    level = parse(["  ####", "###  #  ", "#@$ .#", "######"])
    assert level.text() == "########\n###  ###\n#@$ .###\n########"


def test_unknown_symbols_name_row_and_column() -> None:
    with pytest.raises(LevelError, match="column 2") as caught:
        parse(["###", "#a#"])
    assert caught.value.row == 1


def test_levels_of_a_file_are_shared_out_to_splits(tmp_path: Path) -> None:
    rows = [
        f"{'#' * 9}\n#@{' ' * i}${' ' * (4 - i)}.#\n#{' ' * j}#{' ' * (6 - j)}#\n{'#' * 9}"
        for i in range(5)
        for j in range(7)
    ]
    env = Sokoban(SokobanConfig(levels=str(written(tmp_path, "\n\n".join(rows)))))
    seen: dict[Split, list[str]] = {"train": [], "validation": [], "test": []}
    for split, texts in seen.items():
        for index in range(200):
            try:
                env.reset(env.task(split, index))
            except IndexError as error:
                assert split != "train"
                assert f"has {len(texts)} levels for the {split} split" in str(error)
                break
            texts.append(env.level.text())
    assert {text for texts in seen.values() for text in texts} == {"\n".join(r.split("\n")) for r in rows}
    assert len(seen["train"]) == 200
    assert not set(seen["train"]) & set(seen["test"])
    assert len(set(seen["test"])) == len(seen["test"])
    with pytest.raises(IndexError):
        env.task("train", -1)


@pytest.mark.skipif(not BOXOBAN_FILES, reason="no Boxoban files in ../shared/boxoban")
@pytest.mark.parametrize("file", BOXOBAN_FILES, ids=lambda file: file.name)
def test_boxoban_files_load_and_bounds_hold(file: Path) -> None:
    levels = load_levels(str(file))
    assert len(levels) == 1000
    assert all((level.height, level.width, len(level.boxes)) == (10, 10, 4) for level in levels)
    for level in levels[::10]:
        assert 0 < lower_bound(level) < NEVER
        assert moves_left(board_of(level), level.player, level.boxes) < NEVER
    for level in levels[:25]:
        found = solve(level, weight=3.0, states=60_000)
        assert found.actions is not None
        env, state, pushes, total = (
            Sokoban(SokobanConfig(levels=str(file), max_actions=200)),
            brute.start(level),
            0,
            0.0,
        )
        env.reset(env.task("train", 0))
        env._start(level)
        for action in found.actions:
            board, boxes = board_of(level), env.boxes
            left = moves_left(board, env.snapshot()[1], boxes)
            assert left < NEVER  # a state on the way to a solution is never called lost
            assert env.potential() == potential(left, 200)
            _, reward, terminated, _, _ = env.step(action)
            total += reward
            pushes += env.boxes != boxes
            state = brute.play(level, state, action)
            assert {divmod(box, 10) for box in env.boxes} == state[1]
        assert terminated and brute.solved(level, state)
        assert lower_bound(level) <= pushes
        assert total == pytest.approx(14.0 - 0.1 * len(found.actions))
