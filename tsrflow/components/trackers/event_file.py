"""One TensorBoard event file per run, also after a resume: the history is copied into a new file, which replaces it.

TensorBoard's own way to void steps (a restart mark with a step number) compares the x of every curve with that number,
so it would also erase curves over generated tokens. Here the caller says which records stay. The new file starts with a
restart mark of step 0, so that a TensorBoard that is watching drops what it holds and reads the copy. The file it was
reading stays behind empty, because it would not get past one that is gone.
"""

# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
import re
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from tensorboard.compat.proto import event_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

_STAMP = re.compile(r"tfevents\.(\d+)")
_HEADER, _FOOTER = 12, 4
"""Bytes around a record: length with checksum, checksum of the data (TFRecord format, little-endian)."""


class EventFile:
    """Appends events; what ``write`` was given has left the process when it returns, so a kill loses nothing."""

    def __init__(
        self,
        folder: Path,
        head: Sequence[Any],
        keep: Callable[[Any], bool] = lambda event: False,
        sync_seconds: float = 10.0,
    ) -> None:
        """Start a file with ``head`` and those events of the newest file in ``folder`` that ``keep`` accepts, in their
        order; then clear what was there. ``fsync`` every ``sync_seconds``. Raises OSError where that cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        earlier = event_files(folder)
        stamps = [int(found[1]) for file in earlier if (found := _STAMP.search(file.name))]
        stamp = max([int(time.time()), *(s + 1 for s in stamps)])  # TensorBoard reads files in order of their names
        path = folder / f"events.out.tfevents.{stamp:010d}.{socket.gethostname()}.{os.getpid()}.0"
        temporary = folder / ".tmp-events"
        self._sync_seconds = sync_seconds
        self._synced = time.monotonic()
        self._file = temporary.open("wb", buffering=0)
        try:
            version = event_pb2.Event(wall_time=time.time(), file_version="brain.Event:2")
            restart = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self.write(version, event_pb2.Event(wall_time=time.time(), step=0, session_log=restart), *head)
            for raw, event in (record for file in _newest(earlier) for record in _records(file)):
                if keep(event):
                    self._append(raw)
            os.fsync(self._file.fileno())
            os.replace(temporary, path)
        except BaseException:
            self._file.close()
            temporary.unlink(missing_ok=True)
            raise
        for file in earlier[:-1]:
            file.unlink()
        for file in earlier[-1:]:
            os.truncate(file, 0)

    def write(self, *events: Any) -> None:
        """Append ``events`` in one go. Raises OSError where the disk does not take them."""
        buffer = BytesIO()
        records = RecordWriter(buffer)
        for event in events:
            records.write(event.SerializeToString())
        self._append(buffer.getvalue())
        if time.monotonic() - self._synced >= self._sync_seconds:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def close(self) -> None:
        """Make everything durable and close; may be called again."""
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()

    def _append(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) or 0 :]


def event_files(folder: Path) -> list[Path]:
    """Event files of ``folder`` in the order TensorBoard reads them."""
    return sorted(folder.glob("events.out.tfevents.*"))


def read_events(folder: Path) -> list[Any]:
    """All events of the newest file of ``folder``, up to one that was cut off by a kill."""
    return [event for file in _newest(event_files(folder)) for _, event in _records(file)]


def _newest(files: Sequence[Path]) -> list[Path]:
    """The last of ``files``, if any: it holds everything, since a file gets its name only when its copy is complete."""
    return list(files[-1:])


def _records(file: Path) -> Iterator[tuple[bytes, Any]]:
    """Each complete record of ``file`` as it lies there, and the event in it."""
    data = file.read_bytes()
    start = 0
    while start + _HEADER <= len(data):
        (length,) = struct.unpack_from("<Q", data, start)
        end = start + _HEADER + length + _FOOTER
        if end > len(data):
            return
        yield data[start:end], event_pb2.Event.FromString(data[start + _HEADER : end - _FOOTER])
        start = end
