"""What a reader moves in an interactive chart: sliders and lists. Not in the paper."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from transformer.support.errors import UserError

# How the page that embeds a chart lays it out: controls above the picture, in a line that breaks
# where it must, on the chart's own light ground, and sliders wide enough to aim with.
STYLE = """
.vega-embed, .vega-embed .chart-wrapper { display: inline-flex; flex-direction: column;
  align-items: flex-start; }
.vega-embed { background: white; }
.vega-embed .vega-bindings { order: -1; display: flex; flex-wrap: wrap; gap: 4px 20px;
  padding: 6px 8px; color: #1a1a1a; font-size: 13px; }
.vega-embed .vega-bind { display: inline-flex; align-items: center; }
.vega-embed .vega-bind-name { margin-right: 6px; }
.vega-embed .vega-bind input[type="range"] { width: 180px; }
.vega-embed .vega-bind select { color: #1a1a1a; background: white; }
"""
ABOVE = {"embed_options": {"defaultStyle": STYLE, "actions": False}}


def slider(name: str, value: float, low: float, high: float, step: float = 1) -> alt.Parameter:
    """Make a number that a slider of the chart changes.

    Args:
        name: Of the number in the chart's expressions, and what stands beside the slider.
        value: To begin with.
        low, high: The slider's ends.
        step: How far apart two values are.

    Raises:
        UserError: the value lies outside the slider.
    """
    if not low <= value <= high:
        raise UserError(f"{name} is {value}: the slider goes from {low} to {high}")
    bind = alt.binding_range(min=low, max=high, step=step, name=f"{name} ")
    return alt.param(name=name, value=value, bind=bind)


def choice(name: str, value: Any, options: Sequence[Any]) -> alt.Parameter:
    """Make a value that a list of the chart changes.

    Args:
        name: Of the value in the chart's expressions, and what stands beside the list.
        value: To begin with.
        options: All that can be chosen.
    """
    bind = alt.binding_select(options=list(options), name=f"{name} ")
    return alt.param(name=name, value=value, bind=bind)
