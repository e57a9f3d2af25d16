"""The run folder: what lies where, written so that a killed process never leaves a half file behind.

config.json  metrics.jsonl  trajectories/step_000010.jsonl  checkpoints/step_000040/  tb/  summary.json  DONE
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tsrflow.config.schema import RunConfig
from tsrflow.errors import ConfigError, RunError


class RunFolder:
    """Paths and atomic writes of one run. Every failing write is a RunError that names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metrics = path / "metrics.jsonl"
        self.checkpoints = path / "checkpoints"
        self.trajectories = path / "trajectories"
        self.summary = path / "summary.json"
        self.done = path / "DONE"

    def prepare(self, config: RunConfig) -> Path | None:
        """Make the folder ready for ``config`` and return the checkpoint to continue from, if any.

        Raises ConfigError where the folder cannot be written, or holds a run that ``config`` must not continue.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            probe = self.path / f".probe-{os.getpid()}"
            probe.write_text("x", encoding="utf-8")
            probe.unlink()
        except OSError as error:
            raise ConfigError(f"run folder {self.path}: cannot be written: {error.strerror}") from error
        held = self.path / "config.json"
        if held.is_file():
            self._reconcile(config, json.loads(held.read_text(encoding="utf-8")))
        elif self.metrics.exists():
            raise ConfigError(f"run folder {self.path}: holds metrics but no config.json; it is not a run of tsrflow")
        self.write_json(held, config.model_dump(mode="json"))
        for leftover in self.checkpoints.glob(".tmp-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        return self.latest_checkpoint()

    def _reconcile(self, config: RunConfig, held: Mapping[str, Any]) -> None:
        if config.resume == "restart":
            for name in ("checkpoints", "trajectories", "tb"):
                shutil.rmtree(self.path / name, ignore_errors=True)
            for file in (self.metrics, self.summary, self.done):
                file.unlink(missing_ok=True)
            return
        if config.resume == "never":
            raise ConfigError(
                f"run folder {self.path}: already holds a run; use resume=auto to continue it, resume=restart to "
                "begin again, or another hydra.run.dir"
            )
        earlier = RunConfig.model_validate(held)
        if earlier.resume_hash() != config.resume_hash():
            changed = sorted(_differences(earlier.model_dump(mode="json"), config.model_dump(mode="json")))
            raise ConfigError(
                f"run folder {self.path}: its run was started with other values of {', '.join(changed)}; use the same "
                "ones to continue it, resume=restart to begin again, or another hydra.run.dir"
            )

    def finished(self, config: RunConfig) -> bool:
        """Whether the folder holds this very run, completed."""
        if config.resume != "auto" or not self.done.is_file():
            return False
        return self.done.read_text(encoding="utf-8").strip() == config.config_hash()

    def latest_checkpoint(self) -> Path | None:
        """The complete checkpoint of the highest step."""
        found = sorted(self.checkpoints.glob("step_*"))
        return found[-1] if found else None

    def checkpoint(self, step: int) -> Path:
        return self.checkpoints / f"step_{step:06d}"

    def write_json(self, path: Path, content: Mapping[str, Any]) -> None:
        """Atomically write ``content`` as JSON."""
        self.write_text(path, json.dumps(content, indent=2) + "\n")

    def write_text(self, path: Path, text: str) -> None:
        """Atomically write ``text``: a reader sees the old file or the new one."""
        temporary = path.with_name(f".tmp-{path.name}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as error:
            raise self.failed(path, error) from error

    def append_metrics(self, step: int, values: Mapping[str, float]) -> None:
        """Add one line to ``metrics.jsonl``."""
        try:
            with self.metrics.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": step, **values}) + "\n")
        except OSError as error:
            raise self.failed(self.metrics, error) from error

    def forget_after(self, step: int) -> None:
        """Drop what an interrupted attempt wrote after ``step``, the step that is continued from."""
        lines: Iterable[str] = ()
        if self.metrics.is_file():
            lines = self.metrics.read_text(encoding="utf-8").splitlines()
        kept = []
        for line in lines:
            try:
                if json.loads(line)["step"] <= step:
                    kept.append(line)
            except (json.JSONDecodeError, KeyError):
                continue  # the line that was being written when the process died
        self.write_text(self.metrics, "".join(f"{line}\n" for line in kept))
        for file in self.trajectories.glob("step_*.jsonl"):
            if int(file.stem.removeprefix("step_")) > step:
                file.unlink()
        for file in (self.summary, self.done):
            file.unlink(missing_ok=True)

    @staticmethod
    def failed(path: Path, error: OSError) -> RunError:
        """The error for a write that did not work."""
        return RunError(f"cannot write {path}: {error.strerror or error}")


def _differences(a: Mapping[str, Any], b: Mapping[str, Any], prefix: str = "") -> list[str]:
    keys = []
    for key in sorted({*a, *b}):
        left, right = a.get(key), b.get(key)
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            keys += _differences(left, right, f"{prefix}{key}.")
        elif left != right and f"{prefix}{key}" not in ("resume", "on_error", "parallel_jobs"):
            keys.append(f"{prefix}{key}")
    return keys
