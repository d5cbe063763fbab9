"""What explorers share: sliders and lists, titles that follow them, data that unfold."""

from collections.abc import Iterable, Sequence
from typing import Any
from unicodedata import east_asian_width

import altair as alt

from transformer.support.errors import UserError, unknown_name_error

# East Asian letters that are as wide as they are high. Vega counts those beyond 16 bits as two in
# any case.
WIDE_LETTER_REGEXP = (
    "[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff"
    "\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]"
)
# How the page that embeds a chart lays it out: controls above the picture, in a line that breaks
# where it must, in the page's colours, and sliders wide enough to aim with.
CONTROLS_CSS = """
.vega-embed, .vega-embed .chart-wrapper { display: inline-flex; flex-direction: column;
  align-items: flex-start; }
.vega-embed .vega-bindings { order: -1; display: flex; flex-wrap: wrap; gap: 4px 20px;
  padding: 6px 8px; color: var(--jp-ui-font-color1, #1a1a1a); font-size: 13px; }
.vega-embed .vega-bind { display: inline-flex; align-items: center; }
.vega-embed .vega-bind-name { margin-right: 6px; }
.vega-embed .vega-bind input[type="range"] { width: 180px; }
.vega-embed .vega-bind select { color: inherit; background: var(--jp-layout-color1, white); }
"""
CONTROLS_ABOVE_CHART_METADATA = {"embed_options": {"defaultStyle": CONTROLS_CSS, "actions": False}}

UNFRAMED_VIEW = alt.ViewBackground(stroke=None)
WEIGHT_COLOUR_SCALE = alt.Scale(scheme="viridis", domain=[0, 1])  # colours of attention weights
DataRows = list[dict[str, object]]


def make_slider(
    name: str, value: float, low: float, high: float, step: float = 1, label: str = ""
) -> alt.Parameter:
    """Make a number, of this name in expressions, that a slider changes; the label stands beside.

    A value outside the slider is a UserError.
    """
    label = label or name
    if not low <= value <= high:
        raise UserError(f"{label} is {value}: the slider goes from {low} to {high}")
    bind = alt.binding_range(min=low, max=high, step=step, name=f"{label} ")
    return alt.param(name=name, value=value, bind=bind)


def text_width_letters(text: str) -> int:
    """Return how many Latin letters have the width of a text: two of a Chinese or Japanese one."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def have_wide_letters(texts: Iterable[str]) -> bool:
    """Return whether a text is wider than its number of letters."""
    return any(text_width_letters(text) > len(text) for text in texts)


def text_width_letters_expr(field: str, wide: bool) -> str:
    """Return the Vega expression of `text_width_letters` for a field of the data.

    `wide` says whether some of its texts are wider than their number of letters.
    """
    if not wide:
        return f"length(datum.{field})"
    return f"length(replace(datum.{field}, regexp('{WIDE_LETTER_REGEXP}', 'g'), 'xx'))"


def make_drop_down(name: str, value: Any, options: Iterable[Any], label: str = "") -> alt.Parameter:
    """Make a value that a list changes; raise a UserError if it is none of the options."""
    options = list(options)
    if value not in options:
        raise unknown_name_error(name, str(value), map(str, options))
    bind = alt.binding_select(options=options, name=f"{label or name} ")
    return alt.param(name=name, value=value, bind=bind)


def make_radio_buttons(name: str, value: str, options: Iterable[str]) -> alt.Parameter:
    """Make a value that buttons side by side change."""
    bind = alt.binding_radio(options=list(options), name=f"{name} ")
    return alt.param(name=name, value=value, bind=bind)


def make_live_title(expression: str, **look: Any) -> alt.Title:
    """Make a title that follows the controls: an expression in the language of Vega."""
    return alt.Title(text=alt.ExprRef(expression), anchor="start", **look)


def explorer_of_overlaid_charts(
    name: str,
    size: tuple[int, int],
    title: str,
    controls: Sequence[alt.Parameter],
    layers: Sequence[alt.Chart],
    description: str,
) -> alt.LayerChart:
    """Put layers on each other as an explorer: its name, size (pixels), title and description."""
    return (
        alt.LayerChart(layer=list(layers))
        .add_params(*controls)
        .properties(name=name, width=size[0], height=size[1], title=make_live_title(title))
        .properties(description=description)
    )


def chart_with_sequence_rows(name: str, numbers: str, rows: DataRows | None = None) -> alt.Chart:
    """Make rows of data in the browser: for each given row one for each number, under a name.

    The numbers are what Vega's `sequence` takes: how many, or from where to where.
    """
    chart = alt.Chart(alt.Data(values=rows or [{name: 0}]))
    return chart.transform_calculate(**{name: f"sequence({numbers})"}).transform_flatten([name])


def chart_with_computed_row(name: str = "place", **fields: str) -> alt.Chart:
    """Make a single row of data whose fields the browser computes."""
    return alt.Chart(alt.Data(values=[{name: 0}])).transform_calculate(**fields)


def make_quantity_channel(
    kind: Any, field: str, title: str, scale: dict[str, Any], **look: Any
) -> Any:
    """Make alt.X or alt.Y of a quantity, with its scale and the looks of its axis."""
    extra = {"axis": alt.Axis(**look)} if look else {}
    return kind(f"{field}:Q", title=title, scale=alt.Scale(**scale), **extra)


def colour_scale(names: Iterable[Any], values: Iterable[Any]) -> alt.Scale:
    """Return a scale that gives each name a colour (or a dash) of its own."""
    return alt.Scale(domain=list(names), range=list(values))
