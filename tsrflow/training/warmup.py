"""``tsrflow warmup``: makes the tiny model that ships with the package, reproducibly, from an environment alone.

A byte-level BPE tokenizer is trained on the environment's own text; a small Qwen2-architecture model is then trained to
imitate scripted play. The script looks one action ahead by the environment's potential and, with some probability per
turn, plays random legal actions instead. That probability is low at first, so that the model learns to read
observations, and high in the end, so that it plays a little, no more. ``haste`` adds a habit to unlearn: to buy before
choosing, to jump before looking.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from tsrflow import streams
from tsrflow.config.base import EnvConfig
from tsrflow.protocols import Env
from tsrflow.rollout.chat import ChatRenderer
from tsrflow.rollout.prompts import SEPARATOR, Prompter
from tsrflow.types import IntArray, Turn

PAD, SYSTEM, USER, ASSISTANT, END = "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"
TEMPLATE = (
    "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
_PIECES = r"\d| ?[A-Za-z]+| ?[^\sA-Za-z0-9]+|\s+"


@dataclass(frozen=True, slots=True)
class WarmupSettings:
    """Size of the model and of its schooling."""

    hidden_size: int = 64
    intermediate_size: int = 128
    layers: int = 2
    heads: int = 4
    vocabulary: int = 512
    context: int = 1024
    initializer_range: float = 0.1
    """At this width the usual .02 stays on a plateau for hundreds of steps."""
    early_noise: float = 0.1
    """Probability of a random turn in the play that is imitated first: enough to learn what the text means."""
    noise: float = 0.3
    """The same for the rest: the habits the finished model has."""
    haste: float = 0.0
    """Probability, in the later part, of a turn that ends the episode at once where an action can."""
    early_share: float = 0.75
    """Share of the steps that come first."""
    script_actions: int = 1
    """Actions per turn of the script, where the environment may allow more."""
    steps: int = 600
    batch: int = 32
    lr: float = 4e-3
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Lesson:
    """One scripted episode as tokens; ``taught`` bool [T] marks the turns that are imitated."""

    token_ids: IntArray
    taught: np.ndarray[tuple[int], np.dtype[np.bool_]]


def scripted_turn(
    env: Env, rng: np.random.Generator, allowed: int, noise: float, haste: float, settings: WarmupSettings
) -> list[str]:
    """Actions of one turn: ``script_actions`` greedy by potential or, with probability ``noise``, up to ``allowed``
    random ones, or, with probability ``haste``, one that ends the episode. ``env`` is left as it was."""
    start = env.snapshot()
    random = bool(rng.random() < noise)
    if haste and rng.random() < haste:
        ending = [action for action in env.legal_actions() if _ends(env, start, action)]
        if ending:
            return [ending[int(rng.integers(len(ending)))]]
    chosen: list[str] = []
    for _ in range(allowed if random else min(allowed, settings.script_actions)):
        legal = list(env.legal_actions())
        if not legal:
            break
        here = env.snapshot()
        best, value = legal[int(rng.integers(len(legal)))], -np.inf
        if not random:
            for action in (legal[i] for i in rng.permutation(len(legal))):
                env.restore(here)
                _, reward, *_ = env.step(action)
                reached = reward + (env.potential() or 0.0)
                if reached > value + 1e-9:
                    best, value = action, reached
        env.restore(here)
        chosen.append(best)
        _, _, terminated, truncated, _ = env.step(best)
        if terminated or truncated:
            break
    env.restore(start)
    return chosen


def _ends(env: Env, start: Any, action: str) -> bool:
    _, _, terminated, _, _ = env.step(action)
    env.restore(start)
    return terminated


def scripted_episodes(
    env: Env, actions_per_turn: int, max_turns: int, settings: WarmupSettings
) -> Iterator[list[tuple[str, str, float]]]:
    """The episodes of a warm-up, on training tasks: (observation, answer, reward of the turn) per turn."""
    early = round(settings.early_share * settings.steps) * settings.batch
    for index in range(settings.steps * settings.batch):
        noise, haste = (settings.early_noise, 0.0) if index < early else (settings.noise, settings.haste)
        rng = streams.generator(streams.fold(settings.seed, "warmup", index))
        observation, _ = env.reset(env.task("train", index))
        env.seed_dynamics(streams.fold(settings.seed, "dynamics", index))
        turns = []
        done = False
        for _ in range(max_turns):
            if done:
                break
            actions = scripted_turn(env, rng, actions_per_turn, noise, haste, settings)
            before, total = observation, 0.0
            for action in actions:
                observation, reward, terminated, truncated, _ = env.step(action)
                total += reward
                done = terminated or truncated
                if done:
                    break
            turns.append((before, f"<answer>{f' {SEPARATOR} '.join(actions)}</answer>", total))
        yield turns


def build_tokenizer(texts: Iterator[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE over ``texts``; the answer tags are tokens of their own, digits stay single."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [PAD, SYSTEM, USER, ASSISTANT, END]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - 4,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens(["<think>", "</think>", "<answer>", "</answer>"])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=END)
    fast.chat_template = TEMPLATE
    return fast


def build_model(tokenizer: PreTrainedTokenizerFast, settings: WarmupSettings) -> Qwen2ForCausalLM:
    """A freshly initialised model of the configured size."""
    torch.manual_seed(settings.seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=settings.hidden_size,
        intermediate_size=settings.intermediate_size,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.heads // 2,
        max_position_embeddings=settings.context,
        initializer_range=settings.initializer_range,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen2ForCausalLM(config)
    model.generation_config = GenerationConfig(
        eos_token_id=[tokenizer.eos_token_id], pad_token_id=tokenizer.pad_token_id
    )
    return model


def lesson(
    episode: list[tuple[str, str, float]],
    renderer: ChatRenderer,
    prompter: Prompter,
    answer_ids: Callable[[str], list[int]],
    end: int,
) -> Lesson:
    """An episode exactly as a rollout would lay it out, turns marked as taught."""
    parts = [renderer.first_prompt(prompter.system(), prompter.first(episode[0][0]))]
    taught = [np.zeros(len(parts[0]), dtype=bool)]
    for depth, (_, answer, reward) in enumerate(episode, start=1):
        sampled = np.asarray([*answer_ids(answer), end], dtype=np.int32)
        parts.append(sampled)
        taught.append(np.ones(len(sampled), dtype=bool))
        if depth < len(episode):
            user = prompter.following(depth, episode[depth][0], reward, Turn(answer, ("played",), True))
            parts.append(renderer.delta(sampled, user))
            taught.append(np.zeros(len(parts[-1]), dtype=bool))
    return Lesson(np.concatenate(parts), np.concatenate(taught))


def teach(
    model: Qwen2ForCausalLM, lessons: Iterator[Lesson], settings: WarmupSettings, log: Callable[[str], None]
) -> None:
    """Cross-entropy on the taught tokens, AdamW, cosine learning rate."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.steps, eta_min=settings.lr * 0.05)
    model.train()
    for step in range(1, settings.steps + 1):
        batch = [next(lessons) for _ in range(settings.batch)]
        width = max(len(item.token_ids) for item in batch)
        ids = torch.zeros(len(batch), width, dtype=torch.long)
        labels = torch.full((len(batch), width), -100)
        mask = torch.zeros(len(batch), width, dtype=torch.long)
        for row, item in enumerate(batch):
            tokens = torch.from_numpy(item.token_ids).long()
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
            labels[row, : len(tokens)] = torch.where(torch.from_numpy(item.taught), tokens, -100)
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0 or step == settings.steps:
            log(f"warm-up step {step}/{settings.steps}: cross-entropy {float(loss.detach()):.3f}")
    model.eval()


def warm_up(
    env: Env,
    prompter: Prompter,
    shape: EnvConfig,
    settings: WarmupSettings,
    out: Path,
    log: Callable[[str], None] = print,
) -> None:
    """Train tokenizer and model and write them to ``out`` with a model card that records how."""
    sample = scripted_episodes(env, shape.actions_per_turn, shape.max_turns, settings)
    corpus = [prompter.system()]
    for episode in itertools.islice(sample, 300):
        corpus += [text for observation, answer, _ in episode for text in (prompter.first(observation), answer)]
    tokenizer = build_tokenizer(iter(corpus), settings.vocabulary)
    renderer = ChatRenderer(tokenizer, {tokenizer.eos_token_id})
    model = build_model(tokenizer, settings)
    episodes = scripted_episodes(env, shape.actions_per_turn, shape.max_turns, settings)

    def answer_ids(text: str) -> list[int]:
        ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    lessons = (lesson(e, renderer, prompter, answer_ids, tokenizer.eos_token_id) for e in episodes if e)
    teach(model, lessons, settings, log)
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(str(out))
    tokenizer.save_pretrained(str(out))
    (out / "README.md").write_text(_card(model, env, settings), encoding="utf-8")
    (out / "warmup.json").write_text(json.dumps(asdict(settings), indent=2) + "\n", encoding="utf-8")


def _card(model: Qwen2ForCausalLM, env: Env, settings: WarmupSettings) -> str:
    count = sum(p.numel() for p in model.parameters())
    hasty = (
        f"\n  In the later part it ends an episode too early in {settings.haste:.0%} of the turns."
        if settings.haste
        else ""
    )
    return f"""# tsrflow tiny policy

A Qwen2-architecture model of {count:,} parameters (hidden size {settings.hidden_size}, {settings.layers} layers, tied
embeddings, vocabulary {model.config.vocab_size}) with a byte-level BPE tokenizer and chat template of its own.

- Made by `tsrflow warmup` from nothing but scripted play in `{type(env).__name__}`: no other data, no pretrained
  weights.
- The script plays {settings.script_actions} action(s) per turn, greedily by the environment's potential.{hasty}
- Schooling: {settings.steps} steps of {settings.batch} episodes, seed {settings.seed}; random turns:
  {settings.early_noise:.0%} for the first {settings.early_share:.0%} of the steps, then {settings.noise:.0%}
  (all settings in `warmup.json`).
- Use: starting point for reinforcement learning on a CPU. It knows the turn format and plays a little. It is of no use
  for anything else.
- Licence: Apache-2.0, as the rest of the project.
"""
