"""Reading the original's files: streamed, and every fault is one clear message."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.components.envs.webshop import shop
from tsrflow.components.envs.webshop import files
from tsrflow.components.envs.webshop.records import parse_options, parse_pricing, price_text
from tsrflow.components.envs.webshop.store import read_products
from tsrflow.errors import ConfigError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.lists(VALUES, max_size=6), chunk=st.integers(1, 40), indent=st.sampled_from([None, 2]))
def test_streaming_a_list_gives_what_json_gives(
    content: list[Any], chunk: int, indent: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_CHUNK", chunk)
    path = tmp_path / "list.json"
    path.write_text(json.dumps(content, indent=indent), encoding="utf-8")
    assert list(files.elements(path)) == content


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.dictionaries(st.text(max_size=5), VALUES, max_size=5), chunk=st.integers(1, 40))
def test_streaming_an_object_gives_what_json_gives(
    content: dict[str, Any], chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_CHUNK", chunk)
    path = tmp_path / "object.json.gz"
    path.write_bytes(gzip.compress(json.dumps(content, ensure_ascii=False).encode()))
    assert dict(files.members(path)) == content


@pytest.mark.parametrize(
    "content", ["", "{}", "[", "[1", "[1,", "[1 2]", "[1,]", "[1] x", "nonsense", '["a', "[1}", "[01]", '{"a": 1}']
)
def test_a_file_that_is_no_json_list_is_refused_with_its_name(content: str, tmp_path: Path) -> None:
    path = tmp_path / "items_shuffle.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"env\.data: .*items_shuffle\.json"):
        list(files.elements(path))


@pytest.mark.parametrize("content", [b"\xff\xfe[1]", b"[1", b"\x1f\x8b broken"])
def test_broken_bytes_are_refused(content: bytes, tmp_path: Path) -> None:
    for name in ("a.json", "a.json.gz"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigError, match=r"env\.data"):
            list(files.elements(tmp_path / name))


def test_a_cut_gzip_file_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps(list(range(5000))).encode())
    (tmp_path / "a.json.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ConfigError, match=r"cannot read .*a\.json\.gz"):
        list(files.elements(tmp_path / "a.json.gz"))


def test_files_of_one_suffix_belong_together(tmp_path: Path) -> None:
    for name in (
        "items_shuffle_1000.json.gz",
        "items_ins_v2_1000.json",
        "items_ins_v2.json",
        "items_human_ins.json.gz",
    ):
        (tmp_path / name).touch()
    found = files.locate(str(tmp_path))
    assert [path.name for path in found.present()] == [
        "items_shuffle_1000.json.gz",
        "items_ins_v2_1000.json",
        "items_human_ins.json.gz",
    ]
    assert found.nouns is None
    (tmp_path / "items_shuffle.json").touch()
    with pytest.raises(ConfigError, match="give the path of the one to read"):
        files.locate(str(tmp_path))
    assert files.locate(str(tmp_path / "items_shuffle.json")).instructions.name == "items_ins_v2.json"


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file or folder"):
        files.locate(str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="holds no items_shuffle"):
        files.locate(str(tmp_path))
    (tmp_path / "items_shuffle_7.json").touch()
    with pytest.raises(ConfigError, match=r"items_ins_v2_7\.json .* is missing"):
        files.locate(str(tmp_path))
    (tmp_path / "other.json").touch()
    with pytest.raises(ConfigError, match="must be named items_shuffle"):
        files.locate(str(tmp_path / "other.json"))


WRONG = [
    ("text", "must be an object"),
    ({"name": "no asin"}, "'asin' is missing"),
    ({**shop.RED, "asin": 5}, "'asin' must be text"),
    ({k: v for k, v in shop.TEA.items() if k != "name"}, "'name' is missing"),
    ({**shop.TEA, "name": ["x"]}, "'name' must be text"),
    (shop.item("B1", "x", full_description=1), "'full_description' must be text"),
    (shop.item("B1", "x", small_description=[1]), "'small_description'"),
    (shop.item("B1", "x", pricing="twelve"), "'pricing' must hold dollar amounts"),
    (shop.item("B1", "x", pricing="$1.2.3"), "'pricing' must hold dollar amounts"),
    (shop.item("B1", "x", customization_options=["red"]), "'customization_options' must be an object"),
    (shop.item("B1", "x", customization_options={"color": "red"}), "option 'color'"),
    (shop.item("B1", "x", customization_options={"color": [{"image": ""}]}), "option 'color'"),
    (shop.item("B1", "x", query=None), "'query' must be text"),
]


@pytest.mark.parametrize(("record", "message"), WRONG)
def test_a_wrong_record_is_named_with_its_number_and_fault(record: Any, message: str, tmp_path: Path) -> None:
    shop.write(tmp_path, items=[shop.RED, record])
    with pytest.raises(ConfigError, match=rf"env\.data: record 1 of .*{message}"):
        list(read_products(files.locate(str(tmp_path))))


@pytest.mark.parametrize(
    ("instructions", "human", "message"),
    [
        ({"B0RED": ["x"]}, {}, "items_ins_v2 must be an object"),
        ({"B0RED": {"attributes": "x"}}, {}, "'attributes' must be a list of texts"),
        ({"B0RED": {"attributes": [], "instruction": 3}}, {}, "'instruction' must be text"),
        ({}, {"B0RED": {"instruction": "x"}}, "items_human_ins must be a list"),
        ({}, {"B0RED": ["x"]}, "items_human_ins must be objects"),
        ({}, {"B0RED": [{"instruction_attributes": ["x"]}]}, "'instruction' is missing"),
    ],
)
def test_wrong_instructions_are_named(instructions: Any, human: Any, message: str, tmp_path: Path) -> None:
    shop.write(tmp_path, instructions=instructions, human=human)
    with pytest.raises(ConfigError, match=rf"record 0 .*B0RED.*{message}"):
        list(read_products(files.locate(str(tmp_path))))


def test_repeated_and_overlong_asins_are_left_out(tmp_path: Path) -> None:
    items = [shop.RED, shop.item("nan", "x"), shop.item("B0123456789", "x"), shop.RED | {"name": "again"}, shop.TEA]
    shop.write(tmp_path, items=items)
    located = files.locate(str(tmp_path))
    assert [p.title for p in read_products(located)] == ["Red Enamel Mug", "Loose Green Tea"]
    assert [p.title for p in read_products(located, max_products=4)] == ["Red Enamel Mug"]


def test_a_product_is_loaded_as_the_original_does(tmp_path: Path) -> None:
    red, blue, tea = read_products(files.locate(str(shop.write(tmp_path))))
    assert red.options == (("color", ("red", "blue | green")), ("size", ("small", "large")))
    assert red.query == "mugs"
    assert red.index_text() == (
        "red enamel mug plain and simple. first point. color: red, blue | green, and size: small, large"
    )
    assert (red.price, blue.price, tea.price) == ("$12.5", "$80.0 to $90.5", "$100.0")
    assert tea.attributes == ("loose leaf",)
    assert tea.instruction is None


def test_prices_and_options_in_all_their_forms() -> None:
    assert parse_pricing("") == (100.0,)
    assert parse_pricing("$1,234.50") == (1234.5,)
    assert parse_pricing("$5.00 - $7.25 - $9") == (5.0, 7.25)
    assert price_text((5.0, 7.25)) == "$5.0 to $7.25"
    assert parse_options("") == parse_options(None) == parse_options({}) == parse_options({"Color": None}) == ()
    assert parse_options({"A": [{"value": " X/Y "}, {"value": "x | y"}]}) == (("a", ("x | y", "x | y")),)
