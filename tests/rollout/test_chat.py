"""Prompts are concatenations of what was sampled and deltas of the template, on real tokenizers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rollout import tokenizers_zoo as zoo
from tsrflow.errors import RunError
from tsrflow.rollout.chat import ChatRenderer, check_template
from tsrflow.types import IntArray

TEMPLATES = {
    "chatml": zoo.CHATML,
    "drops thoughts": zoo.DROPS_THOUGHTS,
    "strips": zoo.STRIPS,
    "no newline": zoo.NO_NEWLINE,
    "no system role": zoo.NO_SYSTEM,
    "ignores system": zoo.IGNORES_SYSTEM,
    "primed": zoo.PRIMED,
    "instruct": zoo.INSTRUCT,
    "no closing token": zoo.NO_CLOSING,
}
TOKENIZERS = {
    f"{kind} {name}": make(template)
    for kind, make in (("bytes", zoo.byte_level), ("words", zoo.word_level))
    for name, template in TEMPLATES.items()
}
RENDERERS = {name: ChatRenderer(tokenizer, zoo.stop_ids(tokenizer)) for name, tokenizer in TOKENIZERS.items()}
BYTES = zoo.byte_level()
STOP, OTHER_STOP = BYTES.convert_tokens_to_ids([zoo.TURN_END, zoo.TEXT_END])
exact = st.text(st.characters(codec="utf-8", exclude_characters="<>|"), max_size=12)


def ids_of(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def array(ids: list[int]) -> IntArray:
    return np.asarray(ids, dtype=np.int32)


@pytest.mark.parametrize(
    ("name", "append_only", "reason"),
    [
        ("bytes chatml", True, ""),
        ("bytes no newline", True, ""),
        ("bytes no system role", True, ""),
        ("bytes ignores system", True, ""),
        ("bytes primed", True, ""),
        ("bytes no closing token", True, ""),
        ("bytes drops thoughts", False, "after turn 1 .* changes or drops part of earlier replies"),
        ("bytes strips", False, "after turn 3 .* strips white space around replies"),
        ("bytes instruct", False, "after turn 1 .* other text or token boundaries"),
        ("words chatml", True, ""),
        ("words drops thoughts", False, "changes or drops part of earlier replies"),
        ("words strips", True, ""),  # white space is no token there, so nothing is lost
    ],
)
def test_the_template_report_says_whether_deltas_equal_the_template(name: str, append_only: bool, reason: str) -> None:
    report = check_template(TOKENIZERS[name], zoo.stop_ids(TOKENIZERS[name]))
    assert report.append_only is append_only
    if append_only:
        assert report.reason == ""
    else:
        with pytest.raises(AssertionError, match=reason):
            raise AssertionError(report.reason)
    assert report == RENDERERS[name].report


@pytest.mark.parametrize("name", ["no system role", "ignores system"])
def test_without_a_system_role_the_rules_go_into_the_first_user_message(name: str) -> None:
    renderer, tokenizer = RENDERERS[f"bytes {name}"], TOKENIZERS[f"bytes {name}"]
    assert renderer.report.system_in_user
    assert "user\nthe rules\n\nthe state<|im_end|>" in tokenizer.decode(renderer.first_prompt("the rules", "the state"))


def test_the_first_prompt_is_the_templates_own() -> None:
    messages = [{"role": "system", "content": "the rules"}, {"role": "user", "content": "the state"}]
    whole = BYTES.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    prompt = RENDERERS["bytes chatml"].first_prompt(" the rules\n", "the state ")
    assert prompt.tolist() == ids_of(BYTES, whole)
    assert prompt.dtype == np.int32
    alone = RENDERERS["bytes chatml"].first_prompt("", "the state")
    assert alone.tolist() == ids_of(BYTES, "<|im_start|>user\nthe state<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.parametrize(
    ("last", "delta"),
    [
        ([STOP], "\n<|im_start|>user\nnext<|im_end|>\n<|im_start|>assistant\n"),
        ([], "<|im_end|>\n<|im_start|>user\nnext<|im_end|>\n<|im_start|>assistant\n"),
        ([OTHER_STOP], "<|im_end|>\n<|im_start|>user\nnext<|im_end|>\n<|im_start|>assistant\n"),
    ],
    ids=["ended by the closing token", "cut by its limit", "ended by another stop id"],
)
def test_a_turn_is_closed_exactly_once(last: list[int], delta: str) -> None:
    sampled = array([*ids_of(BYTES, "Up"), *last])
    assert RENDERERS["bytes chatml"].delta(sampled, " next\n").tolist() == ids_of(BYTES, delta)


def test_a_template_without_newline_after_the_closing_token_gets_none() -> None:
    delta = RENDERERS["bytes no newline"].delta(array([STOP]), "next")
    assert BYTES.decode(delta) == "<|im_start|>user\nnext<|im_end|><|im_start|>assistant\n"


def test_a_closing_token_behind_a_space_is_found_as_well() -> None:
    tokenizer = zoo.byte_level(zoo.CHATML.replace("<|im_end|>", " <|im_end|>"))
    renderer = ChatRenderer(tokenizer, zoo.stop_ids(tokenizer))
    delta = renderer.delta(array([STOP]), "next")
    assert tokenizer.decode(delta) == "\n<|im_start|>user\nnext <|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("name", "closing"),
    [("bytes chatml", zoo.TURN_END), ("words instruct", zoo.TURN_END), ("bytes no closing token", None)],
)
def test_the_token_that_closes_replies_comes_from_the_template(name: str, closing: str | None) -> None:
    found = RENDERERS[name].closing_id()
    assert found == (None if closing is None else TOKENIZERS[name].convert_tokens_to_ids(closing))


def test_decoding_leaves_out_the_stop_id_and_nothing_else() -> None:
    renderer = RENDERERS["bytes chatml"]
    text = "<think> a  b </think>\n<answer>Up || Left</answer> "
    for last in ([], [STOP], [OTHER_STOP]):
        assert renderer.decode(array([*ids_of(BYTES, text), *last])) == text
    assert renderer.decode(array([STOP, *ids_of(BYTES, "x"), STOP])) == f"{zoo.TURN_END}x"
    assert renderer.decode(array([])) == ""


def test_thoughts_that_the_template_has_opened_are_part_of_the_turn() -> None:
    renderer = RENDERERS["bytes primed"]
    assert renderer.decode(array(ids_of(BYTES, "hm</think><answer>Up</answer>"))) == (
        "<think>\nhm</think><answer>Up</answer>"
    )


@pytest.mark.parametrize("name", sorted(RENDERERS))
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_five_turns_of_random_ids_stay_exactly_what_was_sampled(name: str, data: st.DataObject) -> None:
    renderer, tokenizer = RENDERERS[name], TOKENIZERS[name]
    ends = zoo.stop_ids(tokenizer)
    ordinary = st.integers(0, len(tokenizer) - 1).filter(lambda i: i not in ends)
    turns = st.tuples(st.lists(ordinary, max_size=10), st.sampled_from([[], *([end] for end in sorted(ends))]), exact)
    conversation = data.draw(st.lists(turns, min_size=5, max_size=5))
    prompt = renderer.first_prompt("play", "start").tolist()
    text = tokenizer.apply_chat_template(renderer._opening("play", "start"), tokenize=False, add_generation_prompt=True)
    assert prompt == ids_of(tokenizer, text)
    for sampled, end, observation in conversation:
        before = prompt + sampled + end
        delta = renderer.delta(array(sampled + end), observation)
        assert delta.dtype == np.int32
        # the delta depends on how the turn ended, never on what was said
        assert delta.tolist() == renderer.delta(array(end), observation).tolist()
        prompt = before + delta.tolist()
        assert prompt[: len(before)] == before
    assert len(prompt) > 5


@pytest.mark.parametrize("name", ["chatml", "no newline", "no system role", "ignores system"])
@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(exact, exact), min_size=1, max_size=4))
def test_where_the_template_is_append_only_deltas_are_its_own_rendering(
    name: str, turns: list[tuple[str, str]]
) -> None:
    tokenizer, renderer = TOKENIZERS[f"bytes {name}"], RENDERERS[f"bytes {name}"]
    messages = renderer._opening("play", "start")
    ids = renderer.first_prompt("play", "start").tolist()
    for number, (reply, observation) in enumerate(turns):
        # the tokenizer may join characters of a reply with the line break before it, so the reply starts with a tag
        reply = f"<think>{reply}</think>"
        sampled = [*ids_of(tokenizer, reply), *([STOP] if number % 2 else [])]
        ids += [*sampled, *renderer.delta(array(sampled), observation).tolist()]
        messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": observation.strip()}]
    whole = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert ids == ids_of(tokenizer, whole)


def test_an_encoding_that_the_tokenizer_would_not_choose_survives() -> None:
    """The same text from single bytes: decoding and encoding again would join them."""
    text = "the theme"
    single = [
        BYTES.convert_tokens_to_ids(BYTES.backend_tokenizer.pre_tokenizer.pre_tokenize_str(c)[0][0]) for c in text
    ]
    assert BYTES.decode(single) == text
    assert single != ids_of(BYTES, text)
    renderer = RENDERERS["bytes chatml"]
    prompt = [*renderer.first_prompt("play", "start").tolist(), *single, STOP]
    prompt += renderer.delta(array([*single, STOP]), "next").tolist()
    start = len(renderer.first_prompt("play", "start"))
    assert prompt[start : start + len(single)] == single


def test_deltas_are_cached_and_cannot_be_changed_by_accident() -> None:
    renderer = RENDERERS["bytes chatml"]
    delta = renderer.delta(array([]), "next")
    with pytest.raises(ValueError, match="read-only"):
        delta[0] = 1
    assert renderer.delta(array([]), "next") is delta


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, "has no chat template"),
        ("{{ messages[0]['content'] }}", "does not show each message once and in order"),
        (zoo.CHATML + "{{ messages[-1]['content'] }}", "does not show each message once and in order"),
        (
            "{% if messages | length > 2 %}{{ raise_exception('one turn only') }}{% endif %}" + zoo.CHATML,
            "cannot render a second user turn: one turn only",
        ),
    ],
)
def test_a_template_that_cannot_hold_a_conversation_is_refused(template: str | None, message: str) -> None:
    with pytest.raises(RunError, match=message):
        check_template(zoo.byte_level(template))
