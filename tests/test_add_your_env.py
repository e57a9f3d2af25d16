"""docs/add_your_env.md shows the files of its example plugin, and its other Python runs (the plugin's own tests execute
its commands)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = ROOT / "plugins" / "tsrflow-guess-env"
GUIDE = (ROOT / "docs" / "add_your_env.md").read_text(encoding="utf-8")
FILES = re.findall(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE)
SNIPPETS = [text for text in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL) if "check_env(" in text]


def test_the_guide_shows_every_file_that_a_plugin_needs() -> None:
    assert [name for name, _ in FILES] == ["pyproject.toml", "tsrflow_guess_env.py"]


@pytest.mark.parametrize(("name", "text"), FILES)
def test_a_file_in_the_guide_is_the_file_of_the_plugin(name: str, text: str) -> None:
    assert text == (PLUGIN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("text", SNIPPETS)
def test_the_contract_check_of_the_guide_passes(text: str) -> None:
    code = f"import sys; sys.path.insert(0, {str(PLUGIN)!r})\n{text}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_guide_has_a_contract_check() -> None:
    assert len(SNIPPETS) == 1


def test_the_guide_has_links_that_exist() -> None:
    for target in re.findall(r"\]\(([\w./]+\.md)", GUIDE):
        assert (ROOT / "docs" / target).is_file()
