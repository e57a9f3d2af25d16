"""The sections of a run that are not components: rollout, trainer, eval."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tsrflow.config.base import ConfigModel, EnvConfig
from tsrflow.types import Split

Fork = Literal["commit", "honest", "clairvoyant"]


class RolloutConfig(ConfigModel):
    """How training trajectories are made."""

    tasks: int = Field(default=8, ge=1)
    """Tasks per step (P)."""
    group_size: int = Field(default=8, ge=1)
    """Trajectories kept per task (G)."""
    keep: int = Field(default=1, ge=1)
    """Trajectories kept per search; group_size = searches x keep."""
    mix: float = Field(default=0.5, ge=0, le=1)
    """Share of plain rollouts in each group: the contrast that searched trajectories, mostly successes, lack."""
    fork: Literal["auto", "commit", "honest", "clairvoyant"] = "auto"
    """Random numbers of candidates in a stochastic world; auto: commit where it is deterministic, else honest."""
    honest_draws: int = Field(default=4, ge=1)
    """Independent executions that score a candidate under fork=honest."""
    discount: float = Field(default=1.0, gt=0, le=1)
    """Per-turn discount of the score of a prefix; training returns are not discounted by it."""
    think: bool = False
    """Require a <think> block before the answer."""
    instructions: Literal["auto", "full", "brief"] = "auto"
    """System prompt; auto: what the model prefers."""
    format_penalty: float = Field(default=0.1, ge=0)
    """Subtracted from the reward of a turn that is not well formed."""
    max_trajectory_tokens: int | None = Field(default=None, ge=1)
    """Tokens after the first prompt, observations included; None: only the context limits them."""
    env_timeout: float = Field(default=10.0, gt=0)
    """Seconds one environment step may take before its trajectory is given up."""
    record_every: int = Field(default=10, ge=0)
    """Write trajectories to disk every so many steps; 0: never."""

    def resolved_fork(self, env: EnvConfig) -> Fork:
        """The fork policy in ``env``."""
        if self.fork != "auto":
            return self.fork
        return "commit" if env.deterministic else "honest"


class TrainerConfig(ConfigModel):
    """Steps and hardware; names as in Lightning."""

    max_steps: int = Field(default=180, ge=1)
    """Training steps; each rolls out, updates and syncs once."""
    accelerator: Literal["auto", "cpu", "gpu", "cuda", "mps", "tpu"] = "auto"
    """Hardware, as in Lightning."""
    devices: Annotated[int, Field(ge=1)] | Literal["auto"] = 1
    """Training processes (with strategy=ddp) or devices."""
    strategy: str = "auto"
    """How processes train together: auto, ddp, … as in Lightning."""
    precision: Literal["32-true", "64-true", "16-true", "bf16-true", "16-mixed", "bf16-mixed"] = "32-true"
    """Precision of the update, as in Lightning."""
    accumulate_grad_batches: int = Field(default=1, ge=1)
    """Microbatches per optimizer step; changes memory, not the gradient."""
    gradient_clip_val: float | None = Field(default=1.0, gt=0)
    """Largest gradient norm; None: no clipping."""
    checkpoint_every: int = Field(default=60, ge=0)
    """Steps between checkpoints; 0: only after the last step."""
    keep_checkpoints: int = Field(default=2, ge=1)
    """Newest checkpoints that are kept."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads of torch; None: torch's choice (OMP_NUM_THREADS)."""


class EvalConfig(ConfigModel):
    """Evaluation without search on a fixed panel of held-out tasks."""

    tasks: int = Field(default=256, ge=1)
    """Size of the panel."""
    every: int = Field(default=60, ge=0)
    """Steps between evaluations (also before the first step); 0: only after the last step."""
    temperature: float = Field(default=0.5, ge=0)
    """Sampling temperature of evaluation; 0 is greedy."""
    split: Split = "validation"
    """Split that the panel is taken from."""
