"""The README does what it says: every command and every Python block in it is executed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
COMMANDS = [line for kind, text in BLOCKS if kind == "bash" for line in text.splitlines() if line.strip()]
PYTHON = [text for kind, text in BLOCKS if kind == "python"]


def execute(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TSRFLOW_PLUGINS": "", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280)


def test_the_readme_has_commands_and_python() -> None:
    assert len(COMMANDS) >= 5
    assert PYTHON


@pytest.mark.parametrize("line", [c for c in COMMANDS if not c.startswith("make ")])
def test_a_command_of_the_readme_works(line: str, tmp_path: Path) -> None:
    program, *arguments = shlex.split(line)
    assert program == ".venv/bin/tsrflow", "the README calls the program that `make` installs"
    result = execute([sys.executable, "-m", "tsrflow", *arguments], tmp_path)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("line", [c for c in COMMANDS if c.startswith("make ")])
def test_a_make_target_of_the_readme_exists_and_is_part_of_the_gate(line: str) -> None:
    assert re.search(rf"^{line.split()[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert line in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", PYTHON)
def test_a_python_block_of_the_readme_runs(text: str, tmp_path: Path) -> None:
    result = execute([sys.executable, "-c", text], tmp_path)
    assert result.returncode == 0, result.stderr
