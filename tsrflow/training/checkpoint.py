"""Checkpoints: a folder that ``AutoModelForCausalLM.from_pretrained`` loads, plus ``trainer_state.pt`` to resume.

Written beside the final name and renamed, so a checkpoint either is complete or does not exist. All randomness is
derived from (seed, step), so no generator state has to be stored.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from tsrflow.components.models.policy import save_policy
from tsrflow.errors import RunError
from tsrflow.training.folder import RunFolder
from tsrflow.training.module import SearchPolicyModule
from tsrflow.types import Cost

STATE = "trainer_state.pt"


def save_checkpoint(folder: RunFolder, module: SearchPolicyModule, optimizer: torch.optim.Optimizer, keep: int) -> Path:
    """Write the checkpoint of ``module.steps_done`` and delete all but the newest ``keep``."""
    final = folder.checkpoint(module.steps_done)
    temporary = final.with_name(f".tmp-{final.name}")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        save_policy(module.policy, temporary)
        state = {
            "step": module.steps_done,
            "empty_steps": module.empty_steps,
            "cost": asdict(module.cost),
            "optimizer": optimizer.state_dict(),
            "critic": module.critic.state_dict() if module.critic is not None else None,
            "filter": module.filter.state_dict(),
        }
        torch.save(state, temporary / STATE)
        if final.exists():
            shutil.rmtree(final)
        os.replace(temporary, final)
    except (OSError, RuntimeError, SafetensorError) as error:  # torch and safetensors wrap a full disk
        shutil.rmtree(temporary, ignore_errors=True)
        raise RunError(f"cannot write checkpoint {final}: {getattr(error, 'strerror', None) or error}") from error
    for old in sorted(folder.checkpoints.glob("step_*"))[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return final


def load_state(checkpoint: Path) -> dict[str, Any]:
    """The trainer state of ``checkpoint``. Raises RunError where it cannot be read."""
    try:
        state: dict[str, Any] = torch.load(checkpoint / STATE, map_location="cpu", weights_only=True)
    except Exception as error:
        raise RunError(f"checkpoint {checkpoint}: {STATE} cannot be read: {error}") from error
    return state


def restore_module(module: SearchPolicyModule, checkpoint: Path, state: dict[str, Any]) -> None:
    """Put ``module`` where it stood when ``checkpoint`` was written: weights, critic, filter, counters.

    The reference policy, if there is one, stays the model that the run began with.
    """
    weights = {}
    for shard in sorted(checkpoint.glob("*.safetensors")):
        weights.update(load_file(shard))
    missing, unexpected = module.model.load_state_dict(weights, strict=False)
    module.model.tie_weights()
    tied = set(getattr(module.model, "all_tied_weights_keys", None) or ())
    if unexpected or set(missing) - tied:
        raise RunError(f"checkpoint {checkpoint}: its weights do not fit the model ({missing=}, {unexpected=})")
    module.steps_done = state["step"]
    module.empty_steps = state["empty_steps"]
    module.cost = Cost(**state["cost"])
    module.filter.load_state_dict(state["filter"])
    if module.critic is not None:
        module.critic.load_state_dict(state["critic"])
