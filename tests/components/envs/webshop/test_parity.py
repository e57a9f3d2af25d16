"""Recordings of the original are replayed without an unexplained difference, and a forged one is found out."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
GOLDENS = ROOT.parent / "shared" / "webshop"
SCRIPT = ROOT / "benchmarks" / "webshop_parity.py"

needs_goldens = pytest.mark.skipif(
    not GOLDENS.is_dir(), reason="recordings of the original are not here (../shared/webshop beside the repository)"
)


def replay(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, cwd=ROOT, check=False, timeout=250
    )


@needs_goldens
@pytest.mark.parametrize("name", ["invented", "real"])
def test_every_recording_is_reproduced(name: str, tmp_path: Path) -> None:
    result = replay(str(GOLDENS / name), "--json", str(tmp_path / "out.json"), "--markdown", str(tmp_path / "out.md"))
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1].startswith("PASS: ")
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    (found,) = report["results"]
    assert found["unexplained"] == 0 and found["compared"] > 30_000
    recorded = {path.name.split(".")[0] for path in (GOLDENS / name).glob("*_*s.jsonl.gz")} - {"title_nouns"}
    assert recorded <= set(found["checks"]), "every file of recordings is replayed"
    assert f"Recordings in `{name}`" in (tmp_path / "out.md").read_text(encoding="utf-8")


def forge(folder: Path, name: str, change: str, by: str) -> Path:
    shutil.copytree(GOLDENS / "invented", folder)
    folder.chmod(0o755)
    path = folder / f"{name}.jsonl.gz"
    content = gzip.decompress(path.read_bytes()).decode()
    assert change in content
    path.unlink()
    path.write_bytes(gzip.compress(content.replace(change, by, 1).encode()))
    return folder


@needs_goldens
@pytest.mark.parametrize(
    ("name", "change", "by"),
    [
        ("reward_cases", '"reward": 0.25', '"reward": 0.26'),
        ("random_episodes", "Total results: 50", "Total results: 49"),
        ("goal_episodes", '"reward": 0.0', '"reward": 0.5'),
        ("search_cases", '"hits": ["B0', '"hits": ["B9'),
        ("edge_episodes", '"next >"', '"next"'),
    ],
)
def test_a_forged_recording_is_found_out(name: str, change: str, by: str, tmp_path: Path) -> None:
    result = replay(str(forge(tmp_path / "forged", name, change, by)))
    assert result.returncode == 1, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1].startswith("FAIL: ")
    assert "UNEXPLAINED" in result.stdout


def test_a_folder_without_data_is_one_clear_error(tmp_path: Path) -> None:
    result = replay(str(tmp_path))
    assert result.returncode == 2
    assert "holds no items_shuffle" in result.stderr and "Traceback" not in result.stderr
