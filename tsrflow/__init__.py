"""tsrflow: multi-turn reinforcement learning of LLM agents by trajectory search.

import tsrflow
summary = tsrflow.run(tsrflow.RunConfig(search="beam", optimizer="grpo"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["RunConfig", "__version__", "run"]

if TYPE_CHECKING:
    from tsrflow.config.schema import RunConfig
    from tsrflow.training.run import run


def __getattr__(name: str) -> Any:
    """Heavy parts are imported on first use, so that ``import tsrflow`` stays light."""
    if name == "RunConfig":
        from tsrflow.config.schema import RunConfig

        return RunConfig
    if name == "run":
        from tsrflow.training.run import run

        return run
    raise AttributeError(f"module 'tsrflow' has no attribute {name!r}")
