"""A loaded policy: model, tokenizer and the ids that end a turn, read from a local Hugging Face folder.

Nothing is ever downloaded: a path that is not a complete folder is one clear error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tsrflow.errors import ConfigError


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """``stop_ids`` are all end-of-turn ids of the generation config and tokenizer; ``context`` is in tokens."""

    model: Any
    tokenizer: Any
    stop_ids: frozenset[int]
    context: int

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(p.numel() for p in self.model.parameters())


def load_policy(path: str | Path, key: str = "model.path", **options: Any) -> LoadedPolicy:
    """Load a model folder in float32 unless ``options`` say otherwise (``torch_dtype``, ``attn_implementation``).

    Raises ConfigError naming ``key`` where the folder is missing, incomplete or unreadable.
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise ConfigError(
            f"{key}={path}: no such folder; give a local Hugging Face model folder (nothing is downloaded)"
        )
    if not (folder / "config.json").is_file():
        raise ConfigError(f"{key}={path}: not a Hugging Face model folder, it has no config.json")
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        options.setdefault("dtype", torch.float32)
        model = AutoModelForCausalLM.from_pretrained(str(folder), local_files_only=True, **options)
    except Exception as error:  # transformers raises many kinds for a damaged folder
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ConfigError(f"{key}={path}: cannot be loaded: {reason}") from error
    return LoadedPolicy(model, tokenizer, _stop_ids(model, tokenizer), _context(model.config))


def save_policy(policy: LoadedPolicy, folder: Path) -> None:
    """Write a folder that ``AutoModelForCausalLM.from_pretrained`` loads: safetensors, tokenizer, generation config."""
    policy.model.save_pretrained(str(folder))
    policy.tokenizer.save_pretrained(str(folder))
    if not (folder / "generation_config.json").is_file():
        content = {"eos_token_id": sorted(policy.stop_ids)}
        (folder / "generation_config.json").write_text(json.dumps(content), encoding="utf-8")


def _stop_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    declared = getattr(model.generation_config, "eos_token_id", None)
    ids = set(declared if isinstance(declared, list) else [] if declared is None else [declared])
    if tokenizer.eos_token_id is not None:
        ids.add(tokenizer.eos_token_id)
    if not ids:
        raise ConfigError(f"model {model.config.name_or_path}: neither generation config nor tokenizer names an end id")
    return frozenset(int(i) for i in ids)


def _context(config: Any) -> int:
    return int(getattr(config, "max_position_embeddings", 0) or 2048)
