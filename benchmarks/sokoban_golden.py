"""Record walks in gym-sokoban, as checked by ``sokoban_parity.py`` (which describes the format).

    python benchmarks/sokoban_golden.py OUT.jsonl.gz [--levels 600] [--seed 0]

Needs an environment of its own with gym-sokoban 0.0.6 (for example: gym 0.26.2, numpy below 1.24, imageio, tqdm,
requests, scipy, matplotlib, pillow, and gym-sokoban with --no-deps); it imports nothing of tsrflow. A third of the
walks is random, a third follows a solution after some random steps, a third follows one with random slips.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter, deque
from pathlib import Path
from typing import Any

import numpy as np
from gym_sokoban.envs.sokoban_env import SokobanEnv

SIZES = (((6, 6), 1), ((6, 6), 1), ((6, 6), 2), ((7, 7), 2), ((7, 9), 2), ((8, 8), 3), ((10, 10), 4))
MOVES = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}
MOST_STATES = 20_000


def drawn(env: SokobanEnv) -> list[str]:
    """The room as rows of a level file."""
    rows = []
    for fixed, state in zip(env.room_fixed.astype(int), env.room_state.astype(int), strict=True):
        on = {3: "*", 4: "$", 5: "@"}
        row = [on.get(s, "#" if f == 0 else "." if f == 2 else " ") for f, s in zip(fixed, state, strict=True)]
        rows.append("".join("+" if c == "@" and f == 2 else c for c, f in zip(row, fixed, strict=True)))
    return rows


def solution(env: SokobanEnv) -> list[int] | None:
    """A shortest solution by plain breadth-first search, None where it is too far."""
    fixed, state = env.room_fixed.astype(int), env.room_state.astype(int)
    targets = frozenset(map(tuple, np.argwhere(fixed == 2).tolist()))
    boxes = frozenset(map(tuple, np.argwhere((state == 3) | (state == 4)).tolist()))
    start = (tuple(int(c) for c in env.player_position), boxes)
    came: dict[Any, Any] = {start: None}
    queue = deque([start])
    while queue and len(came) < MOST_STATES:
        here = queue.popleft()
        (row, column), boxes = here
        if boxes == targets:
            actions = []
            while came[here]:
                here, action = came[here]
                actions.append(action)
            return actions[::-1]
        for action, (down, across) in MOVES.items():
            cell, beyond = (row + down, column + across), (row + 2 * down, column + 2 * across)
            if fixed[cell] == 0:
                continue
            moved = boxes
            if cell in boxes:
                if fixed[beyond] == 0 or beyond in boxes:
                    continue
                moved = boxes - {cell} | {beyond}
            if (cell, moved) not in came:
                came[cell, moved] = (here, action)
                queue.append((cell, moved))
    return None


def walk(env: SokobanEnv, kind: int, dice: random.Random) -> dict[str, Any]:
    """Play one episode and write down all of it."""
    level, actions, rewards, boards, dones = drawn(env), [], [], [], []
    done = False
    while not done:
        planned = len(actions) == 6 if kind == 1 else kind == 2 and len(actions) % 5 == 0
        plan = solution(env) if planned else None
        for action in plan[: 4 if kind == 2 else None] if plan else [dice.randint(1, 4)]:
            _, reward, done, _ = env.step(action, observation_mode="tiny_rgb_array")
            actions.append(action)
            rewards.append(round(float(reward), 9))
            boards.append("\n".join(drawn(env)))
            dones.append(bool(done))
            if done:
                break
    return {
        "source": "gym-sokoban 0.0.6",
        "level": "\n".join(level),
        "max_steps": env.max_steps,
        "actions": actions,
        "rewards": rewards,
        "boards": boards,
        "done": dones,
    }


def main() -> None:
    """Record as many walks as the command line says."""
    parser = argparse.ArgumentParser(description="Record walks in gym-sokoban.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--levels", type=int, default=600)
    parser.add_argument("--steps", type=int, default=30, help="steps until an episode is cut")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    random.seed(options.seed)
    np.random.seed(options.seed)
    lines, counts = [], Counter[str]()
    for number in range(options.levels):
        room, boxes = SIZES[number % len(SIZES)]
        env = SokobanEnv(dim_room=room, max_steps=options.steps, num_boxes=boxes)
        recorded = walk(env, number % 3, dice)
        counts["steps"] += len(recorded["actions"])
        counts["solved"] += recorded["rewards"][-1] > 5
        lines.append(json.dumps(recorded, separators=(",", ":")))
    with options.out.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as file:
        file.write(("\n".join(lines) + "\n").encode())
    size = options.out.stat().st_size
    print(f"{len(lines)} levels, {counts['steps']} steps, {counts['solved']} solved, {size} bytes")


if __name__ == "__main__":
    main()
