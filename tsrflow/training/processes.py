"""Several training processes on one machine: the first one starts the others and shares their fate.

Each process gets the usual ``LOCAL_RANK``/``MASTER_ADDR`` variables, so Lightning's DDP takes it for externally
launched. Where such variables are already set (``torchrun``), nothing is started.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch.distributed as dist

from tsrflow.config.schema import RunConfig
from tsrflow.errors import RunError

_VARIABLES = ("LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def process_rank() -> int:
    """This process's global rank as its launcher set it; 0 without one."""
    return int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0")))


@contextmanager
def started_processes(config: RunConfig, run_dir: Path) -> Iterator[None]:
    """Run the body as rank 0 of ``trainer.devices`` processes; the others are gone when it ends."""
    count = config.trainer.devices if isinstance(config.trainer.devices, int) else 1
    if count <= 1 or "LOCAL_RANK" in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="tsrflow-") as scratch:
        file = Path(scratch) / "config.json"
        file.write_text(config.model_dump_json(), encoding="utf-8")
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
        command = [sys.executable, "-m", "tsrflow.training.processes", str(file), str(run_dir)]
        others = [
            subprocess.Popen(command, env={**os.environ, **shared, "LOCAL_RANK": str(rank)}) for rank in range(1, count)
        ]
        os.environ.update({**shared, "LOCAL_RANK": "0"})
        try:
            yield
            for process in others:
                process.wait(timeout=60)
        except RuntimeError as error:  # how a collective operation fails when the other side is gone
            _blame(others, error)
            raise
        finally:
            for process in others:
                process.kill()
                process.wait()
            if dist.is_initialized():
                dist.destroy_process_group()
            for variable in _VARIABLES:
                os.environ.pop(variable, None)


def _blame(others: list[subprocess.Popen[bytes]], error: RuntimeError) -> None:
    """Raise RunError if another process ended before its time; ``error`` is what this one noticed of it."""
    time.sleep(1.0)  # its exit code may still be on the way
    for rank, process in enumerate(others, start=1):
        code = process.poll()
        if code:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            raise RunError(
                f"training process {rank} {how} (its message is above); the last checkpoint is kept"
            ) from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Entry point of the processes that ``started_processes`` starts."""
    from tsrflow.training.run import run

    config = RunConfig.model_validate_json(Path(sys.argv[1]).read_text(encoding="utf-8"))
    run(config, sys.argv[2])


if __name__ == "__main__":
    main()
