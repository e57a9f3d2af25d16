"""Whatever a policy writes: no exception, and a refused action leaves the state as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.components.envs.webshop import shop
from tsrflow.components.envs.webshop.env import WebShop

LABELS = st.sampled_from(
    [
        *("b0red", "b0blue", "b0tea", "red", "large", "small", "blue | green", "description", "features", "reviews"),
        *(
            "buy now",
            "< prev",
            "next >",
            "back to search",
            "BUY NOW",
            " buy now",
            "attributes",
            "search",
            "1",
            "2",
            "99",
        ),
    ]
)
WORDS = st.one_of(
    st.sampled_from(
        ["red mug", "tea", "<r>", "<q> mugs", "<c> home", "<c>", "<a> x", "item_page mug", "done", "the of"]
    ),
    st.text(max_size=40),
)
ACTIONS = st.one_of(
    LABELS.map(lambda label: f"click[{label}]"),
    WORDS.map(lambda words: f"search[{words}]"),
    st.text(max_size=60),
    st.text(alphabet="[]clikserh\n\x00<>é☃\ud800", max_size=30),
)


@pytest.mark.parametrize("observation", ["text", "rich", "compact"])
@pytest.mark.parametrize("quirks", ["mended", "faithful"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(ACTIONS, max_size=12), start=st.integers(0, 2))
def test_any_text_is_an_action_or_refused(
    quirks: str, observation: str, folder: Path, actions: list[str], start: int
) -> None:
    env: WebShop = shop.open_shop(folder, quirks=quirks, observation=observation)
    env.start(start)
    for action in actions:
        parsed = env.parse_action(action)
        assert parsed is None or env.parse_action(parsed) == parsed
        page, kept = env.render_ansi(), env.snapshot()
        observed, gained, terminated, truncated, info = env.step(action)
        assert isinstance(observed, str) and 0.0 <= gained <= 1.0
        assert isinstance(env.state_hash(), str)
        value = env.potential()
        assert value is not None and -1.0 <= value <= 1.0
        if info.get("invalid"):
            assert (gained, terminated, truncated) == (0.0, False, False)
            assert (env.render_ansi(), env.snapshot()) == (page, kept)
        assert info["success"] in (False, gained == 1.0)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(ACTIONS, max_size=8))
def test_the_same_texts_lead_to_the_same_place(folder: Path, actions: list[str]) -> None:
    traces = []
    for _ in range(2):
        env = shop.open_shop(folder, quirks="faithful")
        env.start(0)
        traces.append([(*env.step(action), env.state_hash()) for action in actions])
    assert traces[0] == traces[1]
