"""Pydantic's findings in the words of the person who typed the config: key, value, what is allowed, nearest name."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from tsrflow.errors import nearest


def explain(error: ValidationError, data: Any, prefix: str = "") -> str:
    """One line per problem, for example ``rollout.tasks=0: must be greater than or equal to 1``."""
    return "\n".join(_line(item, data, prefix, error.title) for item in error.errors())


def _line(item: Any, data: Any, prefix: str, title: str) -> str:
    location = [str(part) for part in item["loc"]]
    path = ".".join([prefix, *location] if prefix else location)
    kind, value = item["type"], item["input"]
    if kind == "extra_forbidden":
        known = _known_keys(title, location)
        return f"{path}={value}: no such key; known: {', '.join(known)}{nearest(location[-1], known)}"
    if kind == "missing":
        return f"{path}: required, give it as {path}=…"
    if kind == "value_error":
        return str(item["ctx"]["error"]) if "ctx" in item else item["msg"]
    if kind == "literal_error":
        expected = item["ctx"]["expected"]
        names = [name.strip(" '") for name in expected.replace(" or ", ",").split(",")]
        return f"{path}={value}: must be one of {', '.join(names)}{nearest(str(value), names)}"
    message = item["msg"][0].lower() + item["msg"][1:]
    return f"{path}={value}: {message.replace('input should be', 'must be').replace('input', 'it')}"


def _known_keys(title: str, location: list[str]) -> list[str]:
    """Fields of the model in which an unknown key was found."""
    model = next((m for m in _subclasses(BaseModel) if m.__name__ == title and m.__module__ != "pydantic"), None)
    for part in location[:-1]:
        field = model.model_fields.get(part) if model is not None else None
        annotation = field.annotation if field is not None else None
        model = annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
    return sorted(model.model_fields) if model is not None else []


def _subclasses(cls: type[BaseModel]) -> list[type[BaseModel]]:
    found = []
    for sub in cls.__subclasses__():
        found += [sub, *_subclasses(sub)]
    return found


