"""Built-in components, registered through the same hook that third parties use. Factories are imported on use."""

from __future__ import annotations

from tsrflow.components.envs.frozenlake import FrozenLakeConfig
from tsrflow.components.envs.gymnasium.config import GymnasiumConfig
from tsrflow.components.envs.sokoban.config import SokobanConfig
from tsrflow.components.envs.webshop.config import WebShopConfig
from tsrflow.components.filters.config import NoFilterConfig, RewardStdConfig, TopPConfig
from tsrflow.components.generators.config import TransformersGeneratorConfig
from tsrflow.components.models.config import PretrainedConfig, TinyConfig
from tsrflow.components.optimizers.config import (
    DAPOConfig,
    DrGRPOConfig,
    GiGPOConfig,
    GRPOConfig,
    GSPOConfig,
    PPOConfig,
    ReinforcePPConfig,
    RLOOConfig,
)
from tsrflow.components.scorers.config import EnvRewardConfig, ProgressConfig
from tsrflow.components.search.config import BeamConfig, BestOfNConfig, LookaheadConfig, NaiveConfig
from tsrflow.components.trackers.config import NullTrackerConfig, TensorBoardConfig
from tsrflow.config.base import ComponentConfig
from tsrflow.registry.catalog import Registry
from tsrflow.registry.hookspecs import hookimpl

_HERE = "tsrflow.components"
_BUILT_INS: tuple[tuple[str, str, type[ComponentConfig], str, str], ...] = (
    ("env", "frozenlake", FrozenLakeConfig, "envs.frozenlake:FrozenLake", "cross a frozen lake around holes"),
    ("env", "sokoban", SokobanConfig, "envs.sokoban.env:Sokoban", "push boxes onto targets"),
    ("env", "webshop", WebShopConfig, "envs.webshop.env:WebShop", "buy what an instruction asks for"),
    ("env", "gymnasium", GymnasiumConfig, "envs.gymnasium.env:GymnasiumEnv", "any Gymnasium id with discrete actions"),
    ("search", "naive", NaiveConfig, "search.naive:Naive", "one linear rollout, no search"),
    ("search", "bon", BestOfNConfig, "search.bon:BestOfN", "best of N complete rollouts"),
    ("search", "beam", BeamConfig, "search.beam:Beam", "keep the best prefixes, turn by turn"),
    ("search", "lookahead", LookaheadConfig, "search.lookahead:Lookahead", "look a few turns ahead, commit one"),
    ("scorer", "progress", ProgressConfig, "scorers.progress:ProgressScorer", "rewards so far plus potential"),
    ("scorer", "env_reward", EnvRewardConfig, "scorers.env_reward:EnvRewardScorer", "rewards so far only"),
    ("optimizer", "grpo", GRPOConfig, "optimizers.grpo:GRPO", "group-relative advantages, no critic"),
    ("optimizer", "dr_grpo", DrGRPOConfig, "optimizers.dr_grpo:DrGRPO", "GRPO without std and length in the divisor"),
    ("optimizer", "dapo", DAPOConfig, "optimizers.dapo:DAPO", "GRPO with clip-higher, token mean, length penalty"),
    ("optimizer", "rloo", RLOOConfig, "optimizers.rloo:RLOO", "REINFORCE with a leave-one-out baseline"),
    ("optimizer", "gspo", GSPOConfig, "optimizers.gspo:GSPO", "GRPO with one ratio per trajectory"),
    ("optimizer", "gigpo", GiGPOConfig, "optimizers.gigpo:GiGPO", "advantages of trajectories and of equal states"),
    (
        "optimizer",
        "reinforce_pp",
        ReinforcePPConfig,
        "optimizers.reinforce_pp:ReinforcePP",
        "REINFORCE normalised over the step",
    ),
    ("optimizer", "ppo", PPOConfig, "optimizers.ppo:PPO", "critic and GAE over action tokens"),
    ("filter", "none", NoFilterConfig, "filters.none:NoFilter", "train on every group"),
    ("filter", "reward_std", RewardStdConfig, "filters.reward_std:RewardStdFilter", "top fraction by uncertainty"),
    ("filter", "top_p", TopPConfig, "filters.top_p:TopPFilter", "fewest groups carrying a share of uncertainty"),
    (
        "generator",
        "transformers",
        TransformersGeneratorConfig,
        "generators.transformers:TransformersGenerator",
        "batched sampling in the training process",
    ),
    ("model", "tiny", TinyConfig, "models.tiny:TinyModel", "packaged policy of about 0.1M parameters"),
    ("model", "pretrained", PretrainedConfig, "models.pretrained:PretrainedModel", "a local Hugging Face folder"),
    (
        "tracker",
        "tensorboard",
        TensorBoardConfig,
        "trackers.tensorboard:TensorBoardTracker",
        "TensorBoard events, one run per job",
    ),
    ("tracker", "none", NullTrackerConfig, "trackers.null:NullTracker", "metrics.jsonl only"),
)


@hookimpl
def tsrflow_register(registry: Registry) -> None:
    """Add everything that ships with the package."""
    for kind, name, config, factory, summary in _BUILT_INS:
        registry.add(kind, name, config=config, factory=f"{_HERE}.{factory}", summary=summary)
