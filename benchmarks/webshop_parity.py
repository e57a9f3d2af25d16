"""Replay recordings of the original WebShop text environment and count every difference.

    python benchmarks/webshop_parity.py GOLDEN_DIR [GOLDEN_DIR …] [--json FILE] [--markdown FILE]

A folder holds a catalogue in the original's format and any of ``world*.json``, ``*_episodes.jsonl``, ``search_cases``,
``reward_cases``, ``type_cases``, ``option_cases``, ``normalize_cases``, ``fuzzy_cases`` and ``title_nouns``
(``.jsonl``; each plain or gzipped). What is there is replayed. Exit status 1 where a difference is not one of the
explained ones, 2 where a folder cannot be read.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from webshop_golden import EXPLAINED, Golden

from tsrflow.errors import ConfigError

_INTRODUCTION = """# WebShop: how close to the original

This page is written by `python benchmarks/webshop_parity.py GOLDEN_DIR … --markdown docs/webshop_parity.md`; do not
edit it by hand. It replays recordings of the original text environment (princeton-nlp/WebShop at 64fa2a5) against
`env=webshop env.quirks=faithful` and counts every comparison: page texts, rich texts, available actions, addresses,
session, rewards and their parts, search results, goals and prices.
"""
_SIZE = """## Size

A data set is read record by record and kept on disk: products, decoded when a page needs them, and the index, both in
memory maps that all processes of a machine share. `python -m tsrflow.components.envs.webshop DATA` builds the store of
DATA ahead of a run and prints what it costs. Measured on two busy cores with the 1 000 recorded products, and with
100 000 and 1 180 000 records made by repeating them under new asins and titles (synthetic goals, all option
combinations). Memory is of the whole process: at its peak while building, and its own (not shared) pages once a store
is opened again:

| products | build, once | while building | on disk, shared | opened again, with goals | private memory | search |
|---:|---:|---:|---:|---:|---:|---:|
| 1 000 | 0.7 s | 0.08 GB | 2.4 MB | 0.01 s, 6 910 goals | 29 MB | 0.1 to 0.2 ms |
| 100 000 | 40 s | 0.4 GB | 220 MB | 1.0 s, 691 000 goals | 66 MB | 0.7 ms |
| 1 180 000 | 27 min at low priority | 4.0 GB | 2.5 GB | 24 s, 8 153 800 goals | 217 MB | 10 to 17 ms |

That is 2.1 kB on disk and, beyond the 29 MB that any process needs, 0.2 to 0.4 kB of private memory per product.
"""


def replay(folder: Path, cache: str, spacy_model: str) -> dict[str, Any]:
    """Everything that was found out about one folder."""
    began = time.perf_counter()
    golden = Golden(folder, cache, spacy_model)
    golden.run()
    checks = {
        name: {
            "cases": check.cases,
            "compared": check.compared,
            "explained": dict(check.explained),
            "unexplained": dict(check.unexplained),
            "examples": check.examples,
        }
        for name, check in golden.checks.items()
        if check.cases
    }
    unexplained = sum(sum(check["unexplained"].values()) for check in checks.values())
    return {
        "folder": folder.resolve().name,
        "checks": checks,
        "measures": golden.measures,
        "compared": sum(check["compared"] for check in checks.values()),
        "explained": sum(sum(check["explained"].values()) for check in checks.values()),
        "unexplained": unexplained,
        "seconds": round(time.perf_counter() - began, 1),
    }


def show(result: dict[str, Any]) -> None:
    """Print one folder's counts and deviations."""
    print(f"{result['folder']}: {result['compared']} comparisons in {result['seconds']} s")
    for name, check in result["checks"].items():
        bad = sum(check["unexplained"].values())
        print(f"  {name:24} {check['cases']:6} cases  {check['compared']:7} comparisons  {bad:5} unexplained")
        for reason, count in check["explained"].items():
            print(f"      explained: {reason}: {count}")
        for what, count in check["unexplained"].items():
            print(f"      UNEXPLAINED: {what}: {count}")
        for example in check["examples"]:
            print(f"        {example}")
    for name, value in result["measures"].items():
        print(f"  measured: {name}: {100 * value:.1f} %")


def markdown(results: list[dict[str, Any]]) -> str:
    """The docs page."""
    parts = [_INTRODUCTION]
    for result in results:
        parts.append(f"## Recordings in `{result['folder']}`\n")
        parts.append("| kind | cases | comparisons | explained | unexplained |\n|---|---:|---:|---:|---:|")
        for name, check in result["checks"].items():
            explained, bad = sum(check["explained"].values()), sum(check["unexplained"].values())
            parts.append(f"| {name} | {check['cases']} | {check['compared']} | {explained} | {bad} |")
        parts.append("")
    used = sorted({reason for r in results for check in r["checks"].values() for reason in check["explained"]})
    parts.append("## Explained deviations\n")
    for reason in EXPLAINED:
        met = "" if reason in used else " (none in these recordings)"
        parts.append(f"- **{reason}**{met}: {EXPLAINED[reason]}")
    measured = [(r["folder"], name, value) for r in results for name, value in r["measures"].items()]
    if measured:
        parts.append(_NOUNS)
        parts.append("| recordings | measured on titles and pairs of titles | share |\n|---|---|---:|")
        parts += [f"| {folder} | {name} | {100 * value:.1f} % |" for folder, name, value in measured]
    return "\n".join([*parts, "", _DELIBERATE, _SIZE.rstrip("\n") + "\n"])


_NOUNS = """
## Nouns of titles

The type part of the reward compares the nouns of two titles. The recordings bring the answers of spaCy 3.8's
en_core_web_sm, which the replay uses. Without such a table `env.nouns=auto` asks spaCy where it and the model are
installed, and else takes the tagger-free rule: words of two or more letters that are neither function words nor units
of measure. How often a source gives another r_type than the recorded nouns, over 4000 random pairs of titles and 4000
pairs that answer one query:
"""
_DELIBERATE = """## Deliberate differences

- Prices drawn from a range and price limits come from `env.world_seed`, not from a global unseeded generator; with the
  seed of a recording they are equal to the recorded ones.
- A session is dropped at reset; the original keeps it for ever. Tasks are drawn by index, not by the goals' weights.
- `env.quirks=mended` (the default) refuses what lets a policy bypass the task: queries with markup, to which the
  hidden keywords `<r>`, `<c>`, `<q>` and `<a>` belong, actions with control characters, and searching on after buying.
  It decides by the session's state where the original reads the page's address, which holds the words that were
  searched for. `env.quirks=faithful` keeps all of that; `info["quirks"]` counts how often an episode used it.
- Actions of more than 4096 characters are invalid in both modes.
- `info["invalid"]` marks an action that did nothing; the original says nothing. Rewards are floats throughout.
- A product without an entry in `items_ins_v2` has no synthetic goals; the original raises KeyError while loading.
"""


def main() -> int:
    """Replay the folders of the command line."""
    parser = argparse.ArgumentParser(description="Replay recordings of the original WebShop text environment.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="GOLDEN_DIR")
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    parser.add_argument("--markdown", type=Path, help="write the docs page to this file")
    parser.add_argument("--spacy-model", default="en_core_web_sm", help="spaCy model to measure, where installed")
    options = parser.parse_args()
    results = []
    try:
        with tempfile.TemporaryDirectory() as cache:
            for folder in options.folders:
                results.append(replay(folder, cache, options.spacy_model))
                show(results[-1])
    except (ConfigError, OSError, KeyError, ValueError) as error:
        print(f"webshop_parity: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    compared, unexplained = sum(r["compared"] for r in results), sum(r["unexplained"] for r in results)
    verdict = "PASS" if compared and not unexplained else "FAIL"
    if options.json:
        options.json.write_text(json.dumps({"verdict": verdict, "results": results}, indent=2) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(markdown(results), encoding="utf-8")
    explained = sum(r["explained"] for r in results)
    print(f"{verdict}: {compared} comparisons, {unexplained} unexplained deviations, {explained} explained")
    return 0 if verdict == "PASS" else 1


if __name__ == "__main__":
    sys.exit(main())
