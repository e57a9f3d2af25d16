"""What the jobs of these tests do, by their seed; imported in fresh processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from tsrflow.config.schema import RunConfig
from tsrflow.errors import RunError

GOOD, REFUSES, CRASHES, IS_KILLED, HANGS, EXITS = 1, 2, 3, 4, 5, 6
runs_in_this_process = 0


def job(config: RunConfig, folder: Path) -> dict[str, Any]:
    """Leaves its process id behind and ends as its seed says."""
    global runs_in_this_process
    runs_in_this_process += 1
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pid").write_text(str(os.getpid()), encoding="utf-8")
    if config.seed == REFUSES:
        raise RunError("no more disk")
    if config.seed == CRASHES:
        raise ZeroDivisionError("by nothing")
    if config.seed == IS_KILLED:
        os.kill(os.getpid(), signal.SIGKILL)
    if config.seed == HANGS:
        _hang(folder)
    if config.seed == EXITS:
        os._exit(3)
    return {
        "status": "finished",
        "config_hash": config.config_hash(),
        "eval/success": 0.5,
        "eval/success_ci95": [0.4, 0.6],
        "cost/decode_tokens": 1234,
        "cost/rollout_seconds": 1.0,
        "cost/update_seconds": 0.5,
        "pid": os.getpid(),
        "runs_in_this_process": runs_in_this_process,
        "environment": os.environ.get("JOB_FLAVOUR", ""),
    }


def _hang(folder: Path) -> None:
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        (folder / "interrupted").touch()
        raise
