"""The environment keeps the contract, and is found by its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pytest
from tsrflow_guess_env import GuessConfig, GuessEnv

from tsrflow.config.schema import RunConfig, parse
from tsrflow.errors import ConfigError
from tsrflow.registry import registry
from tsrflow.testing import check_env
from tsrflow.types import Split, Task


@pytest.fixture(autouse=True)
def _with_plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TSRFLOW_PLUGINS", "guess-env")
    monkeypatch.setenv("TSRFLOW_STRICT_PLUGINS", "1")
    registry.cache_clear()
    yield
    registry.cache_clear()


@pytest.mark.parametrize("config", [GuessConfig(), GuessConfig(span=2, max_turns=3, actions_per_turn=4)])
def test_it_keeps_the_contract(config: GuessConfig) -> None:
    check_env(GuessEnv(config))


def test_halving_finds_every_number_in_five_guesses() -> None:
    env = GuessEnv(GuessConfig(max_turns=5))
    for seed in range(200):
        observation, _ = env.reset(Task("guess", "train", 0, seed))
        potentials, done = [env.potential()], False
        while not done:
            low, high = map(int, observation.split(" to "))
            observation, reward, done, truncated, info = env.step(str((low + high) // 2))
            potentials.append(env.potential())
            assert not truncated
        assert reward == 1.0 and info["success"] and env.legal_actions() == []
        assert potentials == sorted(potentials) and (potentials[0], potentials[-1]) == (0.0, 1.0)


@pytest.mark.parametrize(("offset", "low", "high"), [(-3, -2, 9), (2, -6, 1), (0, 0, 0), (-6, -5, 9), (9, -6, 8)])
def test_a_guess_narrows_what_is_possible(offset: int, low: int, high: int) -> None:
    """All relative to the secret, which lies 6 above the least of 16 numbers."""
    env = GuessEnv(GuessConfig())
    for seed in range(10_000):
        numbers, secret = env._draw(seed)
        if secret - numbers[0] == 6:
            break
    assert env.reset(Task("guess", "train", 0, seed))[0] == f"{secret - 6} to {secret + 9}"
    assert env.step(str(secret + offset))[0] == f"{secret + low} to {secret + high}"
    assert env.step(str(secret - 7))[4].get("invalid") is True


@pytest.mark.parametrize("text", ["-1", "3.5", "seven", "", "9" * 9, "²"])
def test_what_is_no_number_is_no_action(text: str) -> None:
    assert GuessEnv(GuessConfig()).parse_action(text) is None


def test_a_guess_is_read_with_blanks_and_zeros() -> None:
    assert GuessEnv(GuessConfig()).parse_action(" 07 ") == "7"


def test_splits_share_no_pair_of_range_and_secret() -> None:
    env = GuessEnv(GuessConfig())
    drawn = {split: {env._draw(env.task(split, i).seed) for i in range(200)} for split in get_args(Split)}
    assert not drawn["train"] & (drawn["validation"] | drawn["test"]) and not drawn["validation"] & drawn["test"]


def test_it_is_found_by_its_name_and_validated_at_its_keys() -> None:
    assert registry().get("env", "guess").origin == "tsrflow-guess-env"
    config = RunConfig(env={"name": "guess", "span": 99})
    assert RunConfig.model_validate_json(config.model_dump_json()) == config
    with pytest.raises(ConfigError, match=r"^env\.span=1: must be >= 2 and <= 500$"):
        parse({"env": {"name": "guess", "span": 1}})
