"""Prepare and measure data of the shop, outside of any run.

python -m tsrflow.components.envs.webshop DATA [--cache DIR]    build the index of DATA and say what it costs
python -m tsrflow.components.envs.webshop --write DIR           write the generated catalogue in DATA's format
… --write DIR --families N                                      a larger one: 240 products per family
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tsrflow.components.envs.webshop.files import locate
from tsrflow.components.envs.webshop.invent import FAMILIES, SEED, records
from tsrflow.components.envs.webshop.store import cache_root, open_store
from tsrflow.errors import ConfigError


def write(folder: Path, families: int) -> None:
    """Write the three files of the generated catalogue."""
    content = records(SEED, families)
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (
        ("items_shuffle.json", content.items),
        ("items_ins_v2.json", content.instructions),
        ("items_human_ins.json", content.human),
    ):
        (folder / name).write_text(json.dumps(part, ensure_ascii=False), encoding="utf-8")
    print(f"{len(content.items)} products written to {folder}")


def measure(data: str, cache: str | None) -> None:
    """Open ``data``, building its store where needed, and print time and memory."""
    began, before = time.perf_counter(), _private_kilobytes()
    store = open_store(locate(data), None, cache)
    opened = time.perf_counter() - began
    count = len(store.products)
    began = time.perf_counter()
    store.index.search("a product of good quality for every day")
    first = time.perf_counter() - began
    size = sum(path.stat().st_size for path in (cache_root(cache) / store.digest).iterdir())
    print(f"{count} products opened in {opened:.1f} s, first search in {1000 * first:.1f} ms")
    print(f"on disk, shared by all processes: {size / 1e6:.1f} MB, {size / count:.0f} bytes per product")
    private = 1024 * (_private_kilobytes() - before)
    print(
        f"private memory of this process: {private / 1e6:.1f} MB more than before, "
        f"{private / count:.0f} bytes per product"
    )


def _private_kilobytes() -> int:
    """Memory that is this process's own (anonymous pages), in kilobytes; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tsrflow.components.envs.webshop", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("data", nargs="?", help="folder or items file in the original's format")
    parser.add_argument("--cache", help="folder for the index")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write the generated catalogue there")
    parser.add_argument("--families", type=int, default=FAMILIES, help="families of four products per kind")
    options = parser.parse_args()
    if not options.data and not options.write:
        parser.error("give DATA or --write DIR")
    try:
        if options.write:
            write(options.write, options.families)
        if options.data:
            measure(options.data, options.cache)
    except ConfigError as error:
        print(f"tsrflow: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
