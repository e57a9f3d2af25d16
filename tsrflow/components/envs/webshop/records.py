"""One product: a record of ``items_shuffle*.json`` joined with its instructions, as the original loads it.

Records are untrusted: whatever is wrong with one is said in a single ``ValueError`` that names the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NO_PRICE = 100.0
"""Price of a product whose record has none."""
NO_ATTRIBUTES = ("DUMMY_ATTR",)
MAX_ASIN = 10
_NOT_NUMERIC = re.compile(r"[^\d.]")

Options = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Instruction:
    """What a person wrote about a product: text, and the attributes and option values it asks for."""

    text: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """Everything pages, search and reward read of a product."""

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    pricing: tuple[float, ...]
    """One price, or the two ends of a range."""
    price: str
    """Price as pages show it."""
    options: Options
    """(name, values) in page order; names are unique, values need not be."""
    attributes: tuple[str, ...]
    category: str
    query: str
    product_category: str
    instruction: str | None
    """Start of the synthetic instructions."""
    instruction_attributes: tuple[str, ...]
    human: tuple[Instruction, ...]

    def index_text(self) -> str:
        """What the search engine reads: only the first bullet is part of it."""
        options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in self.options)
        return " ".join((self.title, self.description, self.bullets[0] if self.bullets else "", options)).lower()


def wanted(record: Any, seen: set[str]) -> bool:
    """Whether the original keeps the record; its asin is added to ``seen``. Raises ValueError."""
    if not isinstance(record, dict):
        raise ValueError(f"must be an object, got {type(record).__name__}")
    asin = _text(record, "asin")
    if asin == "nan" or len(asin) > MAX_ASIN or asin in seen:
        return False
    seen.add(asin)
    return True


def product_from_record(record: Mapping[str, Any], ins: Mapping[str, Any] | None, human: Sequence[Any]) -> Product:
    """Join a record with its entries of the two instruction files. Raises ValueError that names the key at fault."""
    ins = {} if ins is None else ins
    if not isinstance(ins, dict):
        raise ValueError("its entry in items_ins_v2 must be an object")
    pricing = parse_pricing(_text(record, "pricing", optional=True))
    instruction = ins.get("instruction")
    return Product(
        asin=_text(record, "asin"),
        title=_text(record, "name"),
        description=_text(record, "full_description", optional=True),
        bullets=_bullets(record.get("small_description")),
        pricing=pricing,
        price=price_text(pricing),
        options=parse_options(record.get("customization_options")),
        attributes=_texts(ins, "attributes") if "attributes" in ins else NO_ATTRIBUTES,
        category=_text(record, "category"),
        query=_text(record, "query").lower().strip(),
        product_category=_text(record, "product_category"),
        instruction=instruction if instruction is None else _text(ins, "instruction"),
        instruction_attributes=_texts(ins, "instruction_attributes"),
        human=tuple(_instruction(entry) for entry in human),
    )


def parse_pricing(text: str) -> tuple[float, ...]:
    """The first two numbers after dollar signs. Raises ValueError where a non-empty text has none."""
    if not text:
        return (NO_PRICE,)
    try:
        numbers = tuple(float(_NOT_NUMERIC.sub("", part)) for part in text.split("$")[1:])
    except ValueError:
        numbers = ()
    if not numbers:
        raise ValueError(f"'pricing' must hold dollar amounts like $12.50, got {text[:40]!r}")
    return numbers[:2]


def price_text(pricing: Sequence[float]) -> str:
    """``$12.5``, or ``$12.5 to $20.0`` for a range."""
    return f"${pricing[0]}" if len(pricing) == 1 else f"${pricing[0]} to ${pricing[1]}"


def parse_options(content: Any) -> Options:
    """Names in lower case; values stripped, in lower case, ``/`` spaced out. A repeated name keeps the last values."""
    if not content:
        return ()
    if not isinstance(content, dict):
        raise ValueError(f"'customization_options' must be an object, got {type(content).__name__}")
    options: dict[str, tuple[str, ...]] = {}
    for name, values in content.items():
        if values is None:
            continue
        if not isinstance(values, list):
            raise ValueError(f"option {name!r} of 'customization_options' must be a list")
        options[name.lower()] = tuple(_option_value(name, value) for value in values)
    return tuple(options.items())


def _option_value(name: str, value: Any) -> str:
    if not isinstance(value, dict) or not isinstance(value.get("value"), str):
        raise ValueError(f"option {name!r} of 'customization_options' must list objects with a text 'value'")
    return str(value["value"]).strip().replace("/", " | ").lower()


def _bullets(content: Any) -> tuple[str, ...]:
    if isinstance(content, str):
        return (content,)
    if content is None:
        return ()
    if not isinstance(content, list) or not all(isinstance(item, str) for item in content):
        raise ValueError("'small_description' must be text or a list of texts")
    return tuple(content)


def _instruction(entry: Any) -> Instruction:
    if not isinstance(entry, dict):
        raise ValueError("its entries in items_human_ins must be objects")
    text = _text(entry, "instruction")
    return Instruction(text, _texts(entry, "instruction_attributes"), _texts(entry, "instruction_options"))


def _text(record: Mapping[str, Any], key: str, optional: bool = False) -> str:
    value = record.get(key)
    if isinstance(value, str):
        return value
    if value is None and optional:
        return ""
    raise ValueError(f"{key!r} is missing" if key not in record else f"{key!r} must be text, got {value!r:.40}")


def _texts(record: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = record.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{key!r} must be a list of texts")
    return tuple(value)
