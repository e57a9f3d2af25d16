"""The four limits at their edges. One character is one token here, which makes the counts below exact."""

from __future__ import annotations

import pytest

from tests.scripted import Bench, answer
from tsrflow.components.search.beam import Beam
from tsrflow.components.search.config import BeamConfig, NaiveConfig
from tsrflow.components.search.naive import Naive
from tsrflow.rollout.limits import Limits
from tsrflow.rollout.live import Search
from tsrflow.testing.scripted import TableEnv
from tsrflow.types import FinishReason, StopReason

PROMPT = len("s:play.u:at start.a:")  # the dots stand for the end token
TURN = len("<answer>a</answer>.")
AFTER = len("u:at a.a:")


def play(**limits: int) -> Search:
    bench = Bench({}, lambda prompt, seed: answer("a"), **{"max_turns": 5, **limits})  # type: ignore[arg-type]
    return bench.search(Naive(NaiveConfig()), searched=False)


def test_the_counts_that_this_file_relies_on() -> None:
    root, first = play(max_turns=2).tree.nodes[:2]
    assert (len(root.token_ids), first.num_sampled, len(first.token_ids)) == (PROMPT, TURN, TURN + AFTER)


@pytest.mark.parametrize(
    ("turn_tokens", "finish", "actions"),
    [
        (TURN, FinishReason.STOP, ("a",)),
        (TURN - 1, FinishReason.LENGTH, ("a",)),  # only the end token is missing
        (TURN - 2, FinishReason.LENGTH, ()),
        (1, FinishReason.LENGTH, ()),
    ],
)
def test_turn_limit(turn_tokens: int, finish: FinishReason, actions: tuple[str, ...]) -> None:
    node = play(turn_tokens=turn_tokens, max_turns=2).tree.nodes[1]
    assert (node.finish, node.num_sampled) == (finish, min(turn_tokens, TURN))
    assert node.turn is not None
    assert node.turn.actions == actions
    assert not node.done


def test_a_cut_turn_is_closed_by_the_template() -> None:
    whole, cut = (play(turn_tokens=n, max_turns=2) for n in (TURN, TURN - 1))
    assert whole.tree.token_ids(1).tolist() == cut.tree.token_ids(1).tolist()
    assert (whole.tree.nodes[1].num_sampled, cut.tree.nodes[1].num_sampled) == (TURN, TURN - 1)


@pytest.mark.parametrize(
    ("trajectory_tokens", "depth", "stop"),
    [
        (TURN + AFTER, 1, StopReason.TRAJECTORY_TOKENS),  # exactly full: no room for another token
        (TURN + AFTER + 1, 2, StopReason.TRAJECTORY_TOKENS),  # room for one token of turn 2
        (TURN, 1, StopReason.TRAJECTORY_TOKENS),
        (1, 1, StopReason.TRAJECTORY_TOKENS),
        (10_000, 5, StopReason.MAX_TURNS),
    ],
)
def test_trajectory_limit(trajectory_tokens: int, depth: int, stop: StopReason) -> None:
    search = play(trajectory_tokens=trajectory_tokens)
    (leaf,) = search.kept
    assert (leaf.depth, leaf.stop, leaf.success) == (depth, stop, False)
    assert len(search.tree.token_ids(leaf.id)) - PROMPT <= trajectory_tokens
    assert len(leaf.token_ids) == leaf.num_sampled  # nothing is appended that nobody will read


@pytest.mark.parametrize("room", [1, 2, TURN - 1, TURN])
def test_the_last_turn_gets_exactly_what_is_left_of_the_trajectory(room: int) -> None:
    leaf = play(trajectory_tokens=TURN + AFTER + room).kept[0]
    assert (leaf.depth, leaf.num_sampled) == (2, room)
    assert leaf.finish is (FinishReason.STOP if room == TURN else FinishReason.LENGTH)


@pytest.mark.parametrize(
    ("context", "depth", "stop"),
    [
        (PROMPT, 0, StopReason.CONTEXT),
        (PROMPT + 1, 1, StopReason.CONTEXT),
        (PROMPT + TURN + AFTER, 1, StopReason.CONTEXT),
        (PROMPT + TURN + AFTER + 1, 2, StopReason.CONTEXT),
        (10_000, 5, StopReason.MAX_TURNS),
    ],
)
def test_context_limit(context: int, depth: int, stop: StopReason) -> None:
    search = play(context=context)
    (leaf,) = search.kept
    assert (leaf.depth, leaf.stop, leaf.success) == (depth, stop, False)
    assert len(search.tree.token_ids(leaf.id)) <= context


def test_the_context_limit_is_named_first_where_both_are_reached() -> None:
    limits = Limits(turn_tokens=8, trajectory_tokens=10, context=30, turns=5)
    assert limits.exhausted(used=30, first=20) is StopReason.CONTEXT
    assert limits.exhausted(used=29, first=19) is StopReason.TRAJECTORY_TOKENS
    assert limits.exhausted(used=28, first=20) is None
    assert (limits.room(20, 20), limits.room(24, 20), limits.room(29, 25)) == (8, 6, 1)


def test_the_last_allowed_turn_ends_by_its_number_even_where_tokens_run_out_too() -> None:
    assert play(max_turns=1, context=PROMPT + TURN + AFTER).kept[0].stop is StopReason.MAX_TURNS


def test_a_success_counts_even_where_no_token_is_left() -> None:
    bench = Bench({"a": (1.0, True, True, 0.0)}, lambda prompt, seed: answer("a"), context=PROMPT + TURN)
    leaf = bench.search(Naive(NaiveConfig())).kept[0]
    assert (leaf.stop, leaf.success) == (StopReason.TERMINATED, True)


class Cutting(TableEnv):
    """Truncates after two actions and claims success all the time."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, len(self._path) >= 2, {**info, "success": True}


def test_an_episode_that_the_environment_cuts_is_no_success() -> None:
    bench = Bench({}, lambda prompt, seed: answer("a"), max_turns=5, env=Cutting)
    leaf = bench.search(Naive(NaiveConfig())).kept[0]
    assert (leaf.stop, leaf.depth, leaf.success) == (StopReason.TRUNCATED, 2, False)


def test_an_episode_that_ends_and_is_cut_at_once_has_ended() -> None:
    bench = Bench({"aa": (1.0, True, True, 0.0)}, lambda prompt, seed: answer("aa"), env=Cutting)
    leaf = bench.search(Naive(NaiveConfig())).kept[0]
    assert (leaf.stop, leaf.success, leaf.reward) == (StopReason.TERMINATED, True, 1.0)


def test_actions_after_the_end_of_the_episode_are_not_played() -> None:
    bench = Bench({"a": (1.0, True, False, 0.0), "aa": (5.0, False, False, 0.0)}, lambda prompt, seed: answer("aa"))
    leaf = bench.search(Naive(NaiveConfig())).kept[0]
    assert (leaf.reward, leaf.turn.actions if leaf.turn else None) == (1.0, ("a", "a"))
    assert bench.engine.ledger.total.env_steps == 1


def test_prefixes_of_one_beam_may_end_by_different_limits() -> None:
    def wordy(prompt: str, seed: int) -> str:
        return answer("a") if seed % 2 else "<think>" + "hm " * 20 + "</think>" + answer("b")

    bench = Bench({}, wordy, max_turns=2, trajectory_tokens=TURN + AFTER + 10, turn_tokens=200)
    stops = {node.stop for node in bench.search(Beam(BeamConfig(width=8, candidates=8))).tree.nodes[1:] if node.done}
    assert stops == {StopReason.TRAJECTORY_TOKENS, StopReason.MAX_TURNS}


def test_scorers_learn_that_a_prefix_ended_by_a_token_limit() -> None:
    class Asking:
        privileged = False

        def __init__(self) -> None:
            self.done: list[bool] = []

        def score(self, contexts):  # type: ignore[no-untyped-def]
            self.done += [context.done for context in contexts]
            return [0.0] * len(contexts)

    scorer = Asking()
    bench = Bench({}, lambda prompt, seed: answer("a"), trajectory_tokens=TURN + AFTER + 1, scorer=scorer)
    bench.search(Naive(NaiveConfig()))
    assert scorer.done == [False, True]
