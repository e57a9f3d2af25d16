"""Walks recorded in gym-sokoban, and the script that replays anybody's."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[4]
SCRIPT = ROOT / "benchmarks" / "sokoban_parity.py"
GOLDEN = ROOT / "tests" / "components" / "envs" / "data" / "sokoban_walks.jsonl.gz"
WALK: dict[str, Any] = {
    "level": "#######\n#@$ . #\n#  $. #\n#######",
    "actions": [4, 4, 3, 2, 4, 4],
    "rewards": [-0.1, 0.9, -0.1, -0.1, 10.9, -0.1],
    "max_steps": 30,
}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def recorded() -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(GOLDEN.read_bytes()).splitlines()]


def test_walks_of_gym_sokoban_are_repeated_exactly(tmp_path: Path) -> None:
    answer = run(GOLDEN, "--json", tmp_path / "out.json", "--markdown", tmp_path / "out.md")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert answer.stdout.splitlines()[-1] == "PASS: 37296 comparisons, 0 unexplained deviations, 0 explained"
    report = json.loads((tmp_path / "out.json").read_text())
    (result,) = report["results"]
    assert report["verdict"] == "PASS"
    assert (result["walks"], result["explained"], result["unexplained"]) == (630, {}, {})
    assert (tmp_path / "out.md").read_text() == (ROOT / "docs" / "sokoban_parity.md").read_text()


def test_the_recordings_hold_what_matters() -> None:
    walks = recorded()
    assert len({walk["level"] for walk in walks}) > 500
    rewards = {reward for walk in walks for reward in walk["rewards"]}
    assert rewards == {-0.1, 0.9, -1.1, 10.9}
    assert {walk["level"].count("$") for walk in walks} == {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("kind", "spoil"),
    [
        ("reward", lambda walk: walk["rewards"].__setitem__(2, 0.0)),
        ("board", lambda walk: walk["boards"].__setitem__(3, walk["boards"][3].replace("@", " "))),
        ("done", lambda walk: walk["done"].__setitem__(1, True)),
        ("record", lambda walk: walk["actions"].append(1)),
        ("record", lambda walk: walk.pop("level")),
        ("record", lambda walk: walk["actions"].__setitem__(0, "jump")),
        ("record", lambda walk: walk.__setitem__("level", walk["level"].replace("@", " "))),
    ],
)
def test_a_spoiled_walk_fails(tmp_path: Path, kind: str, spoil: Callable[[dict[str, Any]], Any]) -> None:
    walks = recorded()[:3]
    spoil(walks[1])
    file = tmp_path / "walks.jsonl"
    file.write_text("\n".join(map(json.dumps, walks)))
    answer = run(file, "--json", tmp_path / "out.json")
    assert answer.returncode == 1
    assert f"UNEXPLAINED: {kind}: 1" in answer.stdout
    assert answer.stdout.splitlines()[-1].startswith("FAIL: ")
    assert json.loads((tmp_path / "out.json").read_text())["results"][0]["unexplained"] == {kind: 1}


@pytest.mark.parametrize(
    "walk",
    [
        WALK,
        {**WALK, "actions": "rrldrr"},
        {**WALK, "actions": "Right || Right || Left || Down || Right || Right"},
        {**WALK, "actions": ["push right", "RIGHT", "move left", "push_down", "r", "Right"]},
        {**WALK, "actions": [3, 3, 2, 1, 3, 3], "lookup": {"0": "Up", "1": "Down", "2": "Left", "3": "Right"}},
        {**WALK, "level": ["#######", "#PX_O_#", "#__XO_#", "#######"]},
        {**WALK, "level": "# # # # # # #\n# P X _ O _ #\n# _ _ X O _ #\n# # # # # # #"},
        {**WALK, "success": [False, False, False, False, True, True], "terminated": [False] * 4 + [True] * 2},
        {
            "room_state": [[0] * 7, [0, 5, 4, 1, 2, 1, 0], [0, 1, 1, 4, 2, 1, 0], [0] * 7],
            "room_fixed": [[0] * 7, [0, 1, 1, 1, 2, 1, 0], [0, 1, 1, 1, 2, 1, 0], [0] * 7],
            "moves": WALK["actions"],
            "reward": WALK["rewards"],
        },
        {
            "start": WALK["level"],
            "steps": [{"action": a, "reward": r} for a, r in zip(WALK["actions"], WALK["rewards"], strict=True)],
        },
    ],
)
def test_other_forms_of_a_walk_are_read(tmp_path: Path, walk: dict[str, Any]) -> None:
    for name, content in (("one.json", walk), ("list.json", [walk]), ("object.json", {"walks": [walk]})):
        (tmp_path / name).write_text(json.dumps(content))
    answer = run(tmp_path)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "explained: after the end: 1" in answer.stdout
    assert answer.stdout.count("1 solved") == 3


def test_peculiarities_of_gym_sokoban_are_explained(tmp_path: Path) -> None:
    level = "#######\n#@*   #\n#$    #\n#.    #\n#######"
    walk = {"level": level, "actions": [0, 6, 4, 5], "rewards": [0.9, -0.1, -1.1, -0.1], "done": [False] * 3 + [True]}
    file = tmp_path / "walks.json"
    file.write_text(json.dumps([walk]))
    answer = run(file)
    assert answer.returncode == 0, answer.stdout
    for reason in (
        "no operation: 1",
        "move without push: 1",
        "boxes on targets at the start: 1",
        "step limit unknown: 1",
    ):
        assert f"explained: {reason}" in answer.stdout


@pytest.mark.parametrize("content", ["{not json", '{"level": 1}\n{', None])
def test_files_that_cannot_be_read_are_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "walks.json"
    if content is not None:
        file.write_text(content)
    answer = run(file)
    assert answer.returncode == 2
    assert "walks.json" in answer.stderr
    assert "Traceback" not in answer.stderr
