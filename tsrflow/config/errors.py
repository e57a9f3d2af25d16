"""Pydantic's findings in the words of the person who typed the config: key, value, what is allowed, nearest name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from tsrflow.config.base import ComponentConfig
from tsrflow.config.fields import accepts, bounds, did_you_mean, keys_of, show
from tsrflow.errors import ConfigError, nearest
from tsrflow.registry import KINDS, registry

_RANGE = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")


def explain(error: ValidationError, model: type[BaseModel], data: Mapping[str, Any]) -> str:
    """One line per problem in ``data``, for example ``rollout.tasks=0: must be >= 1``."""
    lines: list[str] = []
    for item in error.errors():
        lines += [line for line in _lines(item, model, data) if line not in lines]
    return "\n".join(lines)


def unknown_key(path: str, value: Any, model: type[BaseModel], data: Mapping[str, Any]) -> str:
    """The message for a key that does not exist."""
    parts = path.split(".")
    owner = model
    depth = 0
    for part in parts[:-1]:
        nested = _class_of(part, owner, data) if depth == 0 else _nested(part, owner)
        if nested is None:
            break
        owner, depth = nested, depth + 1
    if depth == 0:
        known, where = list(model.model_fields), "there are"
    elif parts[0] in KINDS and depth == 1:
        known, where = [k for k in owner.model_fields if k != "name"], f"{parts[0]}={_name(parts[0], data)} has"
    else:
        known, where = list(owner.model_fields), f"{'.'.join(parts[:depth])} has"
    listed = f"{where} {', '.join(known)}" if known else f"{where} no settings"
    return f"{path}={show(value)}: no such key; {listed}{did_you_mean(path, all_keys(model, data))}"


def all_keys(model: type[BaseModel], data: Mapping[str, Any]) -> list[str]:
    """Dotted keys that exist with the components that ``data`` names."""
    keys: list[str] = []
    for name in model.model_fields:
        nested = _class_of(name, model, data)
        keys += [name] if nested is None else keys_of(nested, f"{name}.")
    return [key for key in keys if not key.endswith(".name")] + [kind for kind in KINDS if kind in model.model_fields]


def _lines(item: Any, model: type[BaseModel], data: Mapping[str, Any]) -> list[str]:
    kind, value = item["type"], item["input"]
    path, field = _locate(item["loc"], model, data)
    if kind == "value_error":  # our own checks name the keys themselves
        text = str(item["ctx"]["error"])
        return text.splitlines() if not path else [f"{path}: {line}" for line in text.splitlines()]
    if kind == "unknown_component":
        return [item["msg"]]
    if kind == "extra_forbidden":
        return [unknown_key(path, value, model, data)]
    if kind == "missing":
        text = field.description if field is not None and field.description else ""
        return [f"{path}: required and has no default{f' ({text})' if text else ''}"]
    if field is None:
        return [f"{path}={show(value)}: {item['msg'][0].lower()}{item['msg'][1:]}"]
    allowed = bounds(field) if kind in _RANGE and bounds(field) else accepts(field)
    given = _given(path, data, value)
    hint = nearest(given, re.split("[| ]", allowed)) if isinstance(given, str) else ""
    return [f"{path}={show(given)}: must be {allowed}{hint}"]


def _given(path: str, data: Any, otherwise: Any) -> Any:
    """The whole value at ``path``; Pydantic's own input may be one item of it."""
    for part in path.split("."):
        if not isinstance(data, Mapping) or part not in data:
            return otherwise
        data = data[part]
    return data


def _locate(location: Sequence[Any], model: type[BaseModel], data: Mapping[str, Any]) -> tuple[str, Any]:
    """Dotted path of a Pydantic location (tags of unions and positions left out) and the field that it ends in."""
    parts: list[str] = []
    owner: type[BaseModel] | None = model
    field = None
    for depth, part in enumerate(location):
        if owner is None:
            break  # inside a value: a union's tag or a position in a list
        parts.append(str(part))
        field = owner.model_fields.get(str(part))
        owner = _class_of(str(part), owner, data) if depth == 0 else _nested(str(part), owner)
    return ".".join(parts), field


def _class_of(key: str, model: type[BaseModel], data: Mapping[str, Any]) -> type[BaseModel] | None:
    """Config class behind a top-level key: of the component that ``data`` names, or of the section."""
    nested = _nested(key, model)
    if key in KINDS and nested is not None and issubclass(nested, ComponentConfig):
        try:
            return registry().get(key, _name(key, data)).config
        except ConfigError:
            return nested
    return nested


def _nested(key: str, model: type[BaseModel]) -> type[BaseModel] | None:
    field = model.model_fields.get(key)
    annotation = field.annotation if field is not None else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _name(kind: str, data: Mapping[str, Any]) -> str:
    value = data.get(kind)
    if isinstance(value, ComponentConfig):
        return value.name
    return str(value.get("name", "")) if isinstance(value, Mapping) else str(value or "")
