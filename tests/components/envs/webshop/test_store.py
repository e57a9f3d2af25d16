"""Stores: found by content, whole or not at all, shared by processes."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from tests.components.envs.webshop import shop
from tsrflow.components.envs.webshop.files import locate
from tsrflow.components.envs.webshop.store import (
    Store,
    cache_root,
    content_hash,
    open_store,
    pack,
    read_products,
    unpack,
)
from tsrflow.errors import ConfigError


def opened(folder: Path) -> Store:
    return open_store(locate(str(folder)), None, str(folder / "cache"))


def test_products_come_back_from_disk_as_they_were_read(tmp_path: Path) -> None:
    folder = shop.write(tmp_path, items=[shop.RED | {"name": "Mug \ud83d\ude00 «é» \u2028"}, shop.BLUE, shop.TEA])
    read = list(read_products(locate(str(folder))))
    stored = opened(folder).products
    assert list(stored) == read
    assert [unpack(pack(product)) for product in read] == read
    assert stored[-1] == read[2] and stored[0:2] == read[0:2]
    with pytest.raises(IndexError):
        stored[3]


def test_the_second_opening_reads_what_the_first_built(tmp_path: Path) -> None:
    folder = shop.write(tmp_path)
    first = opened(folder)
    built = {path: path.stat().st_mtime_ns for path in (folder / "cache").rglob("*.npy")}
    again = opened(folder)
    assert again.digest == first.digest
    assert {path: path.stat().st_mtime_ns for path in (folder / "cache").rglob("*.npy")} == built
    assert again.index.scored("red mug") == first.index.scored("red mug")
    with pytest.raises(ValueError, match="read-only"):
        again.index.documents[0] = 7


def test_other_content_has_another_name(tmp_path: Path) -> None:
    folder = shop.write(tmp_path)
    files = locate(str(folder))
    names = {content_hash(files, None), content_hash(files, 2)}
    shop.write(folder, human={})
    names.add(content_hash(files, None))
    shop.write(folder, items=[shop.RED])
    names.add(content_hash(files, None))
    assert len(names) == 4


@pytest.mark.parametrize("harm", ["cut", "delete", "meta"])
def test_a_damaged_store_is_built_again(harm: str, tmp_path: Path) -> None:
    folder = shop.write(tmp_path)
    store = opened(folder)
    expected = store.index.scored("mug")
    place = cache_root(str(folder / "cache")) / store.digest
    victim = place / ("meta.json" if harm == "meta" else "documents.npy")
    if harm == "delete":
        victim.unlink()
    else:
        victim.write_bytes(victim.read_bytes()[:-3])
    assert opened(folder).index.scored("mug") == expected


def test_a_failed_build_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = shop.write(tmp_path, items=[shop.RED, "wrong"])
    with pytest.raises(ConfigError):
        opened(folder)
    left = [path for path in (folder / "cache" / "webshop").iterdir() if path.suffix != ".lock"]
    assert left == []


def test_no_usable_product_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no usable product"):
        opened(shop.write(tmp_path, items=[]))


def _search(folder: str, out: multiprocessing.Queue[str]) -> None:
    store = opened(Path(folder))
    out.put(json.dumps([store.products[place].asin for place in store.index.search("enamel mug tea")]))


def test_processes_that_build_at_the_same_time_get_the_same_store(tmp_path: Path) -> None:
    folder = shop.write(tmp_path)
    context = multiprocessing.get_context("spawn")
    out: multiprocessing.Queue[str] = context.Queue()
    workers = [context.Process(target=_search, args=(str(folder), out)) for _ in range(3)]
    for worker in workers:
        worker.start()
    answers = {out.get(timeout=60) for _ in workers}
    for worker in workers:
        worker.join(timeout=60)
    assert len(answers) == 1
    stores = [path for path in (folder / "cache" / "webshop").iterdir() if path.is_dir()]
    assert len(stores) == 1


def test_a_cache_that_cannot_be_made_is_replaced_by_a_temporary_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.warns(UserWarning, match=r"env\.cache"):
        root = cache_root(str(tmp_path / "file"))
    assert root.is_dir()
