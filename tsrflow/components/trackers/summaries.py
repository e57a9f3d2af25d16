"""TensorBoard's messages for what is not a curve: hyperparameters, texts, and the layout of the custom scalars page."""

# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import metadata as layout_metadata
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.util import tensor_util

from tsrflow.types import Trajectory

CONFIG_TAG = "config"
"""Where the config stands as text."""
UNTIMED_TAGS = frozenset(
    {
        CONFIG_TAG,
        layout_metadata.CONFIG_SUMMARY_TAG,
        hparams_metadata.EXPERIMENT_TAG,
        hparams_metadata.SESSION_START_INFO_TAG,
        hparams_metadata.SESSION_END_INFO_TAG,
    }
)
"""Tags of what is said about a run as a whole, once."""


def scalars(values: Mapping[str, float]) -> Any:
    """One point on each of several curves."""
    return Summary(value=[Summary.Value(tag=tag, simple_value=float(value)) for tag, value in values.items()])


def hyperparameters(values: Mapping[str, Any], metrics: Sequence[str], start: float) -> Any:
    """``values`` of this run, and ``metrics`` (tags of its own curves) as the figures to compare runs by."""
    plain = {key: _plain(value) for key, value in values.items()}
    experiment = api_pb2.Experiment(
        hparam_infos=[api_pb2.HParamInfo(name=key, type=_data_type(value)) for key, value in plain.items()],
        metric_infos=[api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag)) for tag in metrics],
        time_created_secs=start,
    )
    session = plugin_data_pb2.SessionStartInfo(start_time_secs=start)
    for key, value in plain.items():
        setattr(session.hparams[key], _data_field(value), value)
    return Summary(
        value=[
            _hparams_value(hparams_metadata.EXPERIMENT_TAG, plugin_data_pb2.HParamsPluginData(experiment=experiment)),
            _hparams_value(
                hparams_metadata.SESSION_START_INFO_TAG,
                plugin_data_pb2.HParamsPluginData(session_start_info=session),
            ),
        ]
    )


def session_end(success: bool, end: float) -> Any:
    """The last word of a run."""
    status = api_pb2.STATUS_SUCCESS if success else api_pb2.STATUS_FAILURE
    info = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=end)
    content = plugin_data_pb2.HParamsPluginData(session_end_info=info)
    return Summary(value=[_hparams_value(hparams_metadata.SESSION_END_INFO_TAG, content)])


def text(tag: str, content: str) -> Any:
    """``content`` as it is, in a fixed-width block: nothing in it is read as Markdown or HTML."""
    tensor = tensor_util.make_tensor_proto(f"<pre>{html.escape(content.expandtabs(4))}</pre>", dtype=np.object_)
    metadata = text_metadata.create_summary_metadata(display_name=None, description=None)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=tensor)])


def config_text(values: Mapping[str, Any]) -> str:
    """One ``key: value`` per line."""
    return "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False, default=str)}" for key, value in values.items())


def trajectory_text(trajectory: Trajectory) -> str:
    """A trajectory as a person reads it: observations, and what the policy said in between."""
    outcome = "success" if trajectory.success else "no success"
    how = "searched" if trajectory.searched else "plain rollout"
    lines = [f"{trajectory.task.id}: {outcome}, return {trajectory.return_:g}, {how}", trajectory.path[0].observation]
    for node in trajectory.path[1:]:
        said = node.turn.text if node.turn else ""
        lines += [f"> {said}   (reward {node.reward + node.penalty:g}, score {node.score:g})", node.observation]
    return "\n".join(lines)


def layout(charts: Mapping[str, Mapping[str, Sequence[str]]]) -> Any:
    """The custom scalars page: per category, per chart, the tags drawn into it."""
    categories = [
        layout_pb2.Category(
            title=title,
            chart=[
                layout_pb2.Chart(
                    title=name, multiline=layout_pb2.MultilineChartContent(tag=[f"^{tag}$" for tag in tags])
                )
                for name, tags in content.items()
            ],
        )
        for title, content in charts.items()
    ]
    tensor = tensor_util.make_tensor_proto(layout_pb2.Layout(category=categories).SerializeToString(), dtype=np.object_)
    tag = layout_metadata.CONFIG_SUMMARY_TAG
    return Summary(value=[Summary.Value(tag=tag, metadata=layout_metadata.create_summary_metadata(), tensor=tensor)])


def _hparams_value(tag: str, content: Any) -> Any:
    metadata = hparams_metadata.create_summary_metadata(content)
    return Summary.Value(tag=tag, metadata=metadata, tensor=hparams_metadata.NULL_TENSOR)


def _plain(value: Any) -> bool | float | str:
    return value if isinstance(value, bool | int | float | str) else json.dumps(value, default=str)


def _data_type(value: bool | float | str) -> Any:
    if isinstance(value, bool):
        return api_pb2.DATA_TYPE_BOOL
    return api_pb2.DATA_TYPE_STRING if isinstance(value, str) else api_pb2.DATA_TYPE_FLOAT64


def _data_field(value: bool | float | str) -> str:
    if isinstance(value, bool):
        return "bool_value"
    return "string_value" if isinstance(value, str) else "number_value"
