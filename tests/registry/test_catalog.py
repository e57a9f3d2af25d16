"""Specs by kind and name: what is refused, and how components are built."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from tsrflow.config.base import ComponentConfig, EnvConfig, SearchConfig
from tsrflow.errors import ConfigError
from tsrflow.registry import KINDS, DuplicateComponentError, Registry


class DiceConfig(ComponentConfig):
    """A component for these tests."""

    name: Literal["dice"] = "dice"
    sides: int = 6


class Dice:
    def __init__(self, config: DiceConfig, colour: str = "white") -> None:
        self.config = config
        self.colour = colour


def anything(config: DiceConfig, **context: Any) -> dict[str, Any]:
    return {"config": config, **context}


def filled(factory: Any = Dice) -> Registry:
    registry = Registry("dist-a")
    registry.add("scorer", "dice", config=DiceConfig, factory=factory, summary="throws dice")
    return registry


def test_kinds_are_the_eight_of_the_design() -> None:
    assert KINDS == ("env", "search", "scorer", "optimizer", "filter", "generator", "model", "tracker")


def test_spec_keeps_what_was_registered_and_where_it_came_from() -> None:
    spec = filled().get("scorer", "dice")
    assert (spec.kind, spec.name, spec.config, spec.summary, spec.origin) == (
        "scorer",
        "dice",
        DiceConfig,
        "throws dice",
        "dist-a",
    )


def test_build_passes_only_the_context_that_the_factory_names() -> None:
    config = DiceConfig(sides=8)
    dice = filled().get("scorer", "dice").build(config, colour="red", model=object())
    assert dice.config is config and dice.colour == "red"
    assert filled().get("scorer", "dice").build(config).colour == "white"


def test_build_passes_everything_to_a_factory_that_takes_everything() -> None:
    assert filled(anything).get("scorer", "dice").build(DiceConfig(), a=1, b=2) == {
        "config": DiceConfig(),
        "a": 1,
        "b": 2,
    }


def test_lazy_factory_is_imported_when_built() -> None:
    spec = filled("tests.registry.test_catalog:Dice").get("scorer", "dice")
    assert type(spec.build(DiceConfig())).__name__ == "Dice"


@pytest.mark.parametrize("factory", ["no.such.module:Dice", "tests.registry.test_catalog:Gone"])
def test_lazy_factory_that_cannot_be_imported_is_named(factory: str) -> None:
    with pytest.raises(ConfigError, match=r"scorer=dice \(from dist-a\): its factory .* cannot be imported"):
        filled(factory).get("scorer", "dice").build(DiceConfig())


def test_duplicate_is_refused_with_both_origins() -> None:
    registry = Registry("dist-b", base=filled())
    with pytest.raises(DuplicateComponentError, match="scorer=dice: one from dist-a, one from dist-b"):
        registry.add("scorer", "dice", config=DiceConfig, factory=Dice, summary="")


def test_override_replaces_and_leaves_the_base_alone() -> None:
    base = filled()
    registry = Registry("dist-b", base=base)
    registry.add("scorer", "dice", config=DiceConfig, factory=Dice, summary="better", override=True)
    assert registry.get("scorer", "dice").origin == "dist-b"
    assert base.get("scorer", "dice").origin == "dist-a"


def test_one_name_may_be_used_in_two_kinds() -> None:
    registry = filled()
    registry.add("filter", "dice", config=DiceConfig, factory=Dice, summary="")
    assert [spec.kind for spec in registry.specs()] == ["scorer", "filter"]
    assert [spec.kind for spec in registry.specs("filter")] == ["filter"]


def test_unknown_name_gets_the_known_ones_and_the_nearest() -> None:
    registry = filled()
    registry.add("scorer", "coin", config=DiceConfig, factory=Dice, summary="")
    with pytest.raises(ConfigError) as caught:
        registry.get("scorer", "dyce")
    assert str(caught.value) == "scorer=dyce: no such scorer; known: coin, dice; did you mean 'dice'?"


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown component kind 'scorers'; .*did you mean 'scorer'"):
        Registry().add("scorers", "dice", config=DiceConfig, factory=Dice, summary="")


@pytest.mark.parametrize(("kind", "base"), [("env", EnvConfig), ("search", SearchConfig)])
def test_config_of_the_wrong_base_is_refused(kind: str, base: type) -> None:
    with pytest.raises(ConfigError, match=f"must be a subclass of tsrflow.config.base.{base.__name__}"):
        Registry().add(kind, "dice", config=DiceConfig, factory=Dice, summary="")
