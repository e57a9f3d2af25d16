"""Token ids and special tokens come from the tokenizer and the model's files, never from the source code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tsrflow

PACKAGE = Path(tsrflow.__file__).parent
NAMES = re.compile(r"(token_id|(eos|bos|pad|stop|end|newline|closing)_ids?)s?$|^(eos|bos|pad)$", re.IGNORECASE)
SPECIAL = re.compile(r"<\|[a-z_]+\|>|\[/?INST\]|</s>|<(start|end)_of_turn>")
OWN_TOKENIZERS = {"testing/scripted.py", "training/warmup.py"}
"""They define a vocabulary of their own."""


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in OWN_TOKENIZERS:
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def literal_ids(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, name) of every name that speaks of token ids and is given, or compared with, whole numbers."""
    for node in ast.walk(tree):
        pairs: list[tuple[ast.expr | str, ast.expr | None]] = []
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.keyword) and node.arg:
            pairs = [(node.arg, node.value)]
        elif isinstance(node, ast.Compare):
            pairs = [(node.left, right) for right in node.comparators] + [(c, node.left) for c in node.comparators]
        elif isinstance(node, ast.Dict):
            pairs = [(key.value, value) for key, value in zip(node.keys, node.values, strict=True)
                     if isinstance(key, ast.Constant) and isinstance(key.value, str)]  # fmt: skip
        for target, value in pairs:
            name = _name(target)
            if name and NAMES.search(name) and value is not None and _has_number(value):
                yield value.lineno, name


def _name(target: ast.expr | str) -> str:
    if isinstance(target, str):
        return target
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""


def _has_number(value: ast.expr) -> bool:
    values = value.elts if isinstance(value, (ast.List, ast.Tuple, ast.Set)) else [value]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):  # frozenset([2]) and the like
        values = [e for a in value.args for e in (a.elts if isinstance(a, (ast.List, ast.Tuple, ast.Set)) else [a])]
    return any(isinstance(v, ast.Constant) and type(v.value) is int for v in values)


def test_no_token_id_is_written_into_the_package() -> None:
    checked = [(name, tree) for name, tree in sources()]
    assert len(checked) > 20
    found = [f"{name}:{line} {what}" for name, tree in checked for line, what in literal_ids(tree)]
    assert found == []


def test_no_special_token_is_written_into_the_package() -> None:
    found = [
        f"{name}:{node.lineno} {node.value!r}"
        for name, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SPECIAL.search(node.value)
    ]
    assert found == []


def test_the_check_itself_sees_literal_ids() -> None:
    source = """
eos_token_id = 2
config.pad_token_id = 0
generate(stop_ids=[1, 2])
if token_id == 198: pass
options = {"eos_token_id": 7}
stop_ids = frozenset([3])
fine_ids = tokenizer.ids
"""
    assert len(list(literal_ids(ast.parse(source)))) == 6
