"""Reads config classes: what a field accepts, which keys exist, which key somebody may have meant."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterable
from typing import Any, Literal, Union

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

_NAMES = {int: "int", float: "float", bool: "true|false", str: "text", type(None): "null"}


def accepts(field: FieldInfo) -> str:
    """What ``field`` takes, for people: ``int >= 1``, ``auto|commit``, ``float > 0 or null``."""
    return _type(field.annotation, bounds(field))


def bounds(field: FieldInfo) -> str:
    """The range of a number, for example ``> 0 and <= 1``; empty without one."""
    return _bounds(field.metadata)


def show(value: Any) -> str:
    """A value as one would type it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{','.join(show(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{show(item)}' for key, item in value.items())}}}"
    return str(value)


def did_you_mean(path: str, known: Iterable[str]) -> str:
    """``"; did you mean 'rollout.tasks'?"``: keys of the same last name first, then the one spelled most alike."""
    keys = [key for key in known if "." in key or "." not in path]
    last = {key: key.rpartition(".")[2] for key in keys}
    meant = path.rpartition(".")[2]
    same = [key for key in keys if last[key] == meant]
    alike = difflib.get_close_matches(path, keys, n=1) or [
        key for key in keys if last[key] in difflib.get_close_matches(meant, last.values(), n=1)
    ]
    found = same or alike[:1]
    return f"; did you mean {' or '.join(repr(key) for key in found)}?" if found else ""


def keys_of(model: type[BaseModel], prefix: str = "") -> list[str]:
    """Dotted keys of a config class, nested classes included."""
    keys: list[str] = []
    for name, field in model.model_fields.items():
        nested = field.annotation
        if isinstance(nested, type) and issubclass(nested, BaseModel):
            keys += keys_of(nested, f"{prefix}{name}.")
        else:
            keys.append(f"{prefix}{name}")
    return keys


def _type(annotation: Any, limits: str) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(arguments[0], _bounds(arguments[1:]) or limits)
    if origin in (Union, types.UnionType):
        return " or ".join(_type(argument, limits) for argument in arguments)
    if origin is Literal:
        return "|".join(show(argument) for argument in arguments)
    if origin in (tuple, list):
        return f"[{','.join('…' if argument is Ellipsis else _type(argument, '') for argument in arguments)}]"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "a mapping of settings"
    name = _NAMES.get(annotation) or str(getattr(annotation, "__name__", annotation))
    return f"{name} {limits}" if limits and annotation in (int, float) else name


def _bounds(metadata: Iterable[Any]) -> str:
    parts = []
    for item in metadata:
        if isinstance(item, FieldInfo):
            parts.append(_bounds(item.metadata))
        for kind, attribute, sign in (
            (annotated_types.Gt, "gt", ">"),
            (annotated_types.Ge, "ge", ">="),
            (annotated_types.Lt, "lt", "<"),
            (annotated_types.Le, "le", "<="),
        ):
            if isinstance(item, kind):
                parts.append(f"{sign} {getattr(item, attribute)}")
    return " and ".join(part for part in parts if part)
