"""Products and search index of a data set on disk: built once, found by content, read through memory maps.

A store is a folder named by the hash of the data files. It is written beside its final name and renamed, so a reader
never sees half of one; processes that want the same store wait for the one that builds it. Readers share its pages in
memory, and a product is decoded only when a page or a reward needs it.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import warnings
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, overload

import numpy as np

from tsrflow.components.envs.webshop.bm25 import Index, build
from tsrflow.components.envs.webshop.files import DataFiles, elements, members
from tsrflow.components.envs.webshop.goals import Summary, summary_row
from tsrflow.components.envs.webshop.records import Instruction, Product, product_from_record, wanted
from tsrflow.errors import ConfigError

_VERSION = 2
_DECODED = 1 << 14
"""Products a process keeps decoded."""


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """An opened store."""

    products: StoredProducts
    index: Index
    summary: Summary
    digest: str


class StoredProducts(Sequence[Product]):
    """Products in a file of JSON lines, decoded on demand."""

    def __init__(self, folder: Path) -> None:
        self._content = np.load(folder / "content.npy", mmap_mode="r")
        self._offsets = np.load(folder / "offsets.npy", mmap_mode="r")
        self._decode = lru_cache(maxsize=_DECODED)(self._read)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, place: int) -> Product: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Product]: ...
    def __getitem__(self, place: int | slice) -> Product | Sequence[Product]:
        if isinstance(place, slice):
            return [self._decode(i) for i in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(f"no product {place} among {len(self)}")
        return self._decode(place % len(self))

    def _read(self, place: int) -> Product:
        return unpack(self._content[int(self._offsets[place]) : int(self._offsets[place + 1])].tobytes())


def pack(product: Product) -> bytes:
    """A product as one line of JSON."""
    values = [getattr(product, field.name) for field in fields(Product)]
    values[-1] = [asdict(instruction) for instruction in product.human]
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def unpack(line: bytes) -> Product:
    """The product that was packed."""
    values: list[Any] = json.loads(line.decode("utf-8", "surrogatepass"))
    human = tuple(Instruction(each["text"], tuple(each["attributes"]), tuple(each["options"])) for each in values.pop())
    fields_ = (*(_frozen(value) for value in values), human)
    return Product(*fields_)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def open_store(files: DataFiles, max_products: int | None, cache: str | None) -> Store:
    """The store of ``files``, built first where it does not exist. Raises ConfigError where a record is wrong."""
    digest = content_hash(files, max_products)
    root = cache_root(cache)
    folder = root / digest
    if not _is_whole(folder):
        with _locked(root, digest):
            if not _is_whole(folder):
                _build(files, max_products, root, folder)
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))

    def mapped(name: str) -> Any:
        return np.load(folder / f"{name}.npy", mmap_mode="r")

    index = Index(
        **{f.name: mapped(f.name) for f in fields(Index) if f.name != "described"}, described=meta["described"]
    )
    summary = Summary(**{f.name: mapped(f.name) for f in fields(Summary)})
    return Store(StoredProducts(folder), index, summary, digest)


def cache_root(cache: str | None) -> Path:
    """Folder that holds the stores; a temporary one where it cannot be written."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    root = (Path(cache).expanduser() if cache else home / "tsrflow") / "webshop"
    try:
        root.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=root).close()
    except OSError as error:
        root = _temporary_root()
        warnings.warn(f"env.cache: {error}; the search index is kept in {root} until this process ends", stacklevel=2)
    return root


@lru_cache(maxsize=1)
def _temporary_root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="tsrflow-webshop-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


def content_hash(files: DataFiles, max_products: int | None) -> str:
    """32 hex digits that name what a store of ``files`` holds."""
    total = hashlib.blake2b(f"{_VERSION} {max_products}".encode(), digest_size=16)
    for path in (files.items, files.instructions, files.human):
        part = hashlib.blake2b(digest_size=16)
        if path is not None:
            try:
                with path.open("rb") as stream:
                    while chunk := stream.read(1 << 20):
                        part.update(chunk)
            except OSError as error:
                raise ConfigError(f"env.data: cannot read {path}: {error.strerror or error}") from error
        total.update(part.digest())
    return total.hexdigest()


def _is_whole(folder: Path) -> bool:
    """Whether every file is there in its full size; a damaged store is built again."""
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        return all((folder / name).stat().st_size == size for name, size in meta["sizes"].items())
    except (OSError, ValueError, KeyError, AttributeError):
        return False


@contextlib.contextmanager
def _locked(root: Path, digest: str) -> Iterator[None]:
    """Hold the lock of one store; without file locks on this system, go on without."""
    try:
        import fcntl
    except ImportError:  # Windows: two builders may work at once, the rename still lets only one win
        yield
        return
    with (root / f"{digest}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(files: DataFiles, max_products: int | None, root: Path, folder: Path) -> None:
    temporary = Path(tempfile.mkdtemp(prefix=".building-", dir=root))
    try:
        _write(files, max_products, temporary)
        if folder.exists():
            shutil.rmtree(folder, ignore_errors=True)
        try:
            temporary.rename(folder)
        except OSError:
            if not _is_whole(folder):
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write(files: DataFiles, max_products: int | None, folder: Path) -> None:
    ids: list[str] = []
    offsets = array("q", [0])
    rows: list[tuple[float, float, int, int]] = []

    def texts() -> Iterator[str]:
        with (folder / "content.bin").open("wb") as content:
            for product in read_products(files, max_products):
                ids.append(product.asin)
                rows.append(summary_row(product))
                offsets.append(offsets[-1] + content.write(pack(product)))
                yield product.index_text()

    index = build(ids, texts())
    if not ids:
        raise ConfigError(f"env.data: {files.items} holds no usable product")
    table = np.asarray(rows, dtype=np.float64)
    arrays = index.arrays() | {
        "offsets": np.frombuffer(offsets, dtype=np.int64),
        "pricing": table[:, :2],
        "human": table[:, 2].astype(np.int64),
        "combinations": table[:, 3].astype(np.int64),
        "content": np.memmap(folder / "content.bin", dtype=np.uint8, mode="r"),
    }
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    del arrays
    (folder / "content.bin").unlink()
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    meta = {"version": _VERSION, "described": index.described, "sizes": sizes}
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")


def read_products(files: DataFiles, max_products: int | None = None) -> Iterator[Product]:
    """Products in file order, those the original drops left out. Raises ConfigError that names the wrong record."""
    ins = {asin: json.dumps(entry) for asin, entry in members(files.instructions)}  # text: a third of the memory
    human = dict(members(files.human)) if files.human else {}
    seen: set[str] = set()
    for number, record in enumerate(elements(files.items)):
        if max_products is not None and number >= max_products:
            break
        try:
            if not wanted(record, seen):
                continue
            asin = record["asin"]
            written = human.get(asin, [])
            if not isinstance(written, list):
                raise ValueError("its entry in items_human_ins must be a list")
            entry = json.loads(ins.get(asin, "null"))
            yield product_from_record(record, entry, written)
        except ValueError as error:
            name = f" (asin {record['asin']!r})" if isinstance(record, dict) and "asin" in record else ""
            raise ConfigError(f"env.data: record {number} of {files.items}{name}: {error}") from error
