"""docs/add_your_env.md does what it says: its commands are executed, in order."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "add_your_env.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```bash\n(.*?)```", GUIDE, re.DOTALL) for line in block.splitlines() if line.strip()
]


def test_the_commands_of_the_guide_work(tmp_path: Path) -> None:
    done = []
    for line in COMMANDS:
        program, *arguments = shlex.split(line)
        if program == "tsrflow":
            environment = {**os.environ, "TSRFLOW_PLUGINS": "guess-env", "TSRFLOW_STRICT_PLUGINS": "1"}
            result = subprocess.run(
                [sys.executable, "-m", "tsrflow", *arguments],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=280,
            )
            assert result.returncode == 0, result.stderr
            done.append(result.stdout)
        else:  # installed and tested by the gate, for every plugin
            assert (program, arguments[:-1]) in (("pip", ["install"]), ("pytest", []))
            assert (ROOT / arguments[-1]).samefile(Path(__file__).parents[1])
            assert "for plugin in plugins/*/" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert len(done) >= 3 and "tsrflow-guess-env" in done[0]
