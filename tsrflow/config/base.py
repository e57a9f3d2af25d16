"""Base classes of everything a user edits: frozen Pydantic models that forbid unknown keys.

A default lives here or in the component's own config class and nowhere else; YAML files choose and override.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

ForkCapability = Literal["snapshot", "deepcopy", "replay", "none"]
Aggregation = Literal["token", "sequence", "constant"]
Decay = Annotated[float, Field(ge=0, lt=1)]


class ConfigModel(BaseModel):
    """Frozen, strict about unknown keys, documented by attribute docstrings."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True, allow_inf_nan=False
    )

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_numbers(cls, value: Any, info: ValidationInfo) -> Any:
        """``key=true`` is a slip where a number belongs, although Python would read it as 1."""
        field = cls.model_fields[str(info.field_name)]
        if isinstance(value, bool) and field.annotation in (int, float, int | None, float | None):
            raise PydanticCustomError("number_type", "must be a number")
        return value


class ComponentConfig(ConfigModel):
    """Config of one registered component; ``name`` is the name it is registered under."""

    name: str
    """Registered name of the component."""


class EnvConfig(ComponentConfig):
    """What every environment's config has: the shape of an episode as the policy lives it."""

    max_turns: int = Field(default=5, ge=1)
    """Turns (sampled messages) per trajectory."""
    actions_per_turn: int = Field(default=2, ge=1)
    """Actions executed per turn; further ones in the same answer are cut."""

    @property
    def deterministic(self) -> bool:
        """Whether ``step`` draws no random numbers."""
        return True

    @property
    def fork_capability(self) -> ForkCapability:
        """How a live episode can be copied."""
        return "snapshot"


class SearchConfig(ComponentConfig):
    """What a run has to know about any strategy before it starts."""

    @property
    def needs_fork(self) -> bool:
        """Whether the strategy continues one prefix more than once."""
        return True

    @property
    def max_keep(self) -> int | None:
        """Leaves one search can return at most; None: any number."""
        return 1

    def conflicts(self, env: EnvConfig) -> list[str]:
        """What cannot be in ``env``, one message per problem, each naming the keys to change."""
        return []


class GeneratorConfig(ComponentConfig):
    """How turns are sampled, whatever engine does it."""

    temperature: float = Field(default=1.0, gt=0)
    """Sampling temperature of training rollouts; the trainer recomputes log-probs at the same one."""
    max_turn_tokens: int = Field(default=24, ge=1)
    """Tokens one turn may have."""


class ModelConfig(ComponentConfig):
    """What prompts have to know about any model."""

    @property
    def prefers_brief(self) -> bool:
        """Whether ``rollout.instructions=auto`` means brief ones."""
        return False


class OptimizerConfig(ComponentConfig):
    """Settings that every objective shares."""

    lr: float = Field(default=4e-4, ge=0)
    """Learning rate of the policy (AdamW); 0 leaves it as it is, which checks everything else."""
    betas: tuple[Decay, Decay] = (0.9, 0.999)
    """AdamW's moment decay rates."""
    weight_decay: float = Field(default=0.0, ge=0)
    """AdamW's decoupled weight decay."""
    clip_low: float = Field(default=0.2, ge=0)
    """The probability ratio is clipped below 1 - clip_low."""
    clip_high: float = Field(default=0.28, ge=0)
    """The probability ratio is clipped above 1 + clip_high."""
    entropy: float = Field(default=0.001, ge=0)
    """Weight of the entropy bonus."""
    kl: float = Field(default=0.0, ge=0)
    """Weight of the KL penalty to the initial policy; 0 keeps no reference model."""
    aggregation: Aggregation = "token"
    """Mean over all tokens of a minibatch; over trajectories of each one's token mean; or of its sum / max_length."""
    max_length: int = Field(default=128, ge=1)
    """Sampled tokens of a long trajectory: what aggregation=constant divides by instead of the trajectory's own."""
    epochs: int = Field(default=1, ge=1)
    """Passes over each step's trajectories."""
    minibatches: int = Field(default=2, ge=1)
    """Optimizer steps per pass."""

    @property
    def needs_values(self) -> bool:
        """Whether a critic is trained."""
        return False

    @property
    def needs_reference(self) -> bool:
        """Whether a copy of the initial policy is kept."""
        return self.kl > 0

    @property
    def needs_groups(self) -> bool:
        """Whether trajectories are compared with others of their group, so that one alone teaches nothing."""
        return False

    @property
    def critic_on_dropped(self) -> bool:
        """Whether the critic also trains on the groups that the filter drops."""
        return False

    @property
    def kl_in_loss(self) -> float:
        """Weight of the KL term of the loss; less than ``kl`` where the penalty is part of the reward."""
        return self.kl
