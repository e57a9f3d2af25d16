"""A hand-made shop in the original's file format, small enough to know every page of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tsrflow.components.envs.webshop.config import WebShopConfig
from tsrflow.components.envs.webshop.env import WebShop


def options(**groups: list[str]) -> dict[str, Any]:
    """``customization_options`` of a record."""
    return {name: [{"value": value} for value in values] for name, values in groups.items()}


def item(asin: str, name: str, **fields: Any) -> dict[str, Any]:
    """A record of ``items_shuffle.json``."""
    record: dict[str, Any] = {
        "asin": asin,
        "name": name,
        "full_description": "Plain and simple.",
        "small_description": ["First point.", "Second point."],
        "pricing": "$12.50",
        "customization_options": "",
        "category": "home",
        "query": "Mugs ",
        "product_category": "Home › Kitchen › Mugs",
        "images": [""],
    }
    return record | fields


RED = item(
    "B0RED", "Red Enamel Mug", customization_options=options(Color=["Red", "Blue/Green"], Size=["small", "large"])
)
BLUE = item("B0BLUE", "Blue Enamel Mug", pricing="$80 - $90.50", full_description="Holds tea.")
TEA = item("B0TEA", "Loose Green Tea", query="tea", product_category="Food › Tea", category="food", pricing="")
ITEMS = [RED, BLUE, TEA]
INSTRUCTIONS: dict[str, Any] = {
    "B0RED": {
        "attributes": ["dishwasher safe", "hand made"],
        "instruction": "Find me dishwasher safe mugs",
        "instruction_attributes": ["dishwasher safe"],
    },
    "B0BLUE": {"attributes": ["hand made"], "instruction": "Find me mugs", "instruction_attributes": ["hand made"]},
    "B0TEA": {"attributes": ["loose leaf"]},
}
HUMAN: dict[str, Any] = {
    "B0RED": [
        {
            "instruction": "i want a hand made mug in red.",
            "instruction_attributes": ["hand made"],
            "instruction_options": ["red"],
        },
        {"instruction": "i want a mug.", "instruction_attributes": [], "instruction_options": []},
    ],
    "B0BLUE": [
        {"instruction": "a hand made mug..", "instruction_attributes": ["hand made"], "instruction_options": []}
    ],
    "B0TEA": [{"instruction": "loose leaf tea", "instruction_attributes": ["loose leaf"], "instruction_options": []}],
}


def write(folder: Path, items: Any = None, instructions: Any = None, human: Any = None) -> Path:
    """Write the data files, by default those above."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, default, content in (
        ("items_shuffle.json", ITEMS, items),
        ("items_ins_v2.json", INSTRUCTIONS, instructions),
        ("items_human_ins.json", HUMAN, human),
    ):
        (folder / name).write_text(json.dumps(default if content is None else content), encoding="utf-8")
    return folder


def open_shop(folder: Path, **config: Any) -> WebShop:
    """An environment over the files in ``folder``, in the original's text mode unless told otherwise."""
    settings: dict[str, Any] = {
        "data": str(folder),
        "cache": str(folder / "cache"),
        "observation": "text",
        "goals": "human",
    }
    return WebShop(WebShopConfig(**(settings | config)))


def start_for(env: WebShop, asin: str, occurrence: int = 0) -> None:
    """Start with the ``occurrence``-th goal that asks for ``asin``."""
    numbers = [n for n in range(len(env.world.table)) if env.world.goal(n).asin == asin]
    env.start(numbers[occurrence])


def play(env: WebShop, *actions: str) -> dict[str, Any]:
    """Play ``actions``, each of which must do something; the info of the last one."""
    info: dict[str, Any] = {}
    for action in actions:
        *_, info = env.step(action)
        assert not info.get("invalid"), f"{action} did nothing"
    return info
