"""Reading answers, and what the policy is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsrflow.rollout.prompts import Prompter, parse_turn
from tsrflow.types import Turn

KNOWN = {"up": "Up", "left": "Left", "search[a || b]": "search[a || b]"}


def read(text: str, *, think: bool = False, most: int = 2) -> tuple[tuple[str, ...], bool]:
    turn = parse_turn(text, lambda action: KNOWN.get(action.lower()), most, think)
    assert turn.text == text
    return turn.actions, turn.well_formed


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("<answer>Up</answer>", ("Up",)),
        ("<answer>up||LEFT</answer>", ("Up", "Left")),
        ("  <answer>\n Up \n</answer>\n", ("Up",)),
        ("<think>hm</think><answer>Up</answer>", ("Up",)),
        ("<think></think>\n<answer>Up || Left</answer>", ("Up", "Left")),
        ("<think>several\nlines, a < b, </b></think><answer>Up</answer>", ("Up",)),
        ("<think>maybe <answer>Left</answer>?</think><answer>Up</answer>", ("Up",)),
    ],
)
def test_well_formed_answers(text: str, actions: tuple[str, ...]) -> None:
    assert read(text) == (actions, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Up",
        "<answer></answer>",
        "<answer> </answer>",
        "<answer>Up",
        "Up</answer>",
        "<answer>Up</answer> and more",
        "I say <answer>Up</answer>",
        "<answer>Up</answer><answer>Left</answer>",
        "<answer><answer>Up</answer></answer>",
        "<answer>Up</answer></answer>",
        "<answer><think>x</think>Up</answer>",
        "<think>x</think>between<answer>Up</answer>",
        "<think>x<answer>Up</answer>",
        "x</think><answer>Up</answer>",
        "<think>x</think><think>y</think><answer>Up</answer>",
        "<think>x<think>y</think></think><answer>Up</answer>",
        "<think>x</think><answer>Up</answer></think><answer>Left</answer>",
        "<ANSWER>Up</ANSWER>",
        "<answer>dance</answer>",
        "<answer>||</answer>",
    ],
)
def test_broken_answers_ask_for_nothing(text: str) -> None:
    assert read(text) == ((), False)


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("<answer>Up || dance</answer>", ("Up",)),
        ("<answer>dance || Up</answer>", ("Up",)),
        ("<answer>Up ||</answer>", ("Up",)),
        ("<answer>dance || Up || Left || Up</answer>", ("Up", "Left")),
    ],
)
def test_unknown_actions_are_dropped_and_cost_the_penalty(text: str, actions: tuple[str, ...]) -> None:
    assert read(text) == (actions, False)


def test_actions_beyond_the_limit_are_cut_without_penalty() -> None:
    assert read("<answer>Up || Left || Up</answer>") == (("Up", "Left"), True)
    assert read("<answer>Up || Left</answer>", most=1) == (("Up",), True)


@pytest.mark.parametrize(
    ("text", "well_formed"),
    [
        ("<think>x</think><answer>Up</answer>", True),
        ("<think></think><answer>Up</answer>", True),
        ("<answer>Up</answer>", False),
        ("<answer>Up</answer><think>x</think>", False),
    ],
)
def test_thoughts_are_required_only_where_asked_for(text: str, well_formed: bool) -> None:
    assert read(text, think=True) == ((("Up",), True) if well_formed else ((), False))


tags = st.sampled_from(["<think>", "</think>", "<answer>", "</answer>", "Up", "||", "dance", " ", "\n", "<", "é"])


@given(st.lists(tags, max_size=12).map("".join), st.booleans(), st.integers(1, 3))
def test_no_text_breaks_the_reader(text: str, think: bool, most: int) -> None:
    actions, well_formed = read(text, think=think, most=most)
    assert len(actions) <= most
    assert not (well_formed and not actions)
    assert set(actions) <= {"Up", "Left"}


def prompter(brief: bool, *, actions: int = 2, think: bool = True) -> Prompter:
    return Prompter(
        "Reach the goal.", brief=brief, think=think, actions_per_turn=actions, max_turns=5, max_turn_tokens=30
    )


def test_brief_prompts_are_the_rules_and_the_observation() -> None:
    brief, turn = prompter(True), Turn("", ("Up",), True)
    assert (brief.system(), brief.first("state")) == ("Reach the goal.", "state")
    assert brief.following(1, "next", 0.5, turn) == "next"
    assert brief.following(1, "next", 0.0, Turn("", (), False)).splitlines() == ["No valid action.", "next"]


def test_full_prompts_tell_format_reward_and_turns_left() -> None:
    full = prompter(False)
    assert "up to 2 actions in one answer, separated by ||" in full.system()
    assert "exactly one action" in prompter(False, actions=1).system()
    first = full.first("state")
    assert "Turn 1 (5 left)" in first
    assert "<think>" in first
    assert "at most 30 tokens" in first
    assert "<think>" not in prompter(False, think=False).first("state")
    after = full.following(2, "next", -0.25, Turn("", ("Up",), True))
    assert after.startswith("Reward: -0.25\nTurn 3 (3 left)")
    assert "no valid action" in full.following(2, "next", 0.0, Turn("", (), False))
