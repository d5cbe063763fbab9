"""Where a Transformer's parameters sit, recomputed in the browser (Table 3, last column)."""

import altair as alt

from lessonkit.charts.controls import slider
from lessonkit.charts.style import CROSS, OURS, PAPER, SOURCE, TARGET

# Slider: lowest, highest, and how far apart two values are.
SLIDERS = {
    "d_model": (64, 1024, 64),
    "d_ff": (256, 4096, 256),
    "num_layers": (1, 12, 1),
    "vocab_size": (1000, 50000, 1000),
}
TIED, UNTIED = "one matrix (§3.4)", "three matrices"

# What `table_3.expected_parameters` adds up, part by part, in the language of Vega.
PARTS = {
    "embeddings and softmax": f"vocab_size * d_model * (embeddings == '{TIED}' ? 1 : 3)",
    "self-attention": "num_layers * 2 * 4 * d_model * d_model",
    "cross-attention": "num_layers * 4 * d_model * d_model",
    "feed-forward": "num_layers * 2 * (2 * d_model * d_ff + d_ff + d_model)",
    "layer norms": "num_layers * 5 * 2 * d_model",
}
COLORS = (PAPER, SOURCE, CROSS, OURS, TARGET)
TOTAL = " + ".join(f"({part})" for part in PARTS.values())


def parameters_explorer(
    d_model: int = 512, d_ff: int = 2048, num_layers: int = 6, vocab_size: int = 37_000
) -> alt.LayerChart:
    """Draw how many parameters each part of the model has, with a slider for each size (§3).

    It counts the paper's model: post-norm, d_k = d_v = d_model / num_heads, no biases in
    attention, sinusoidal positions. The number of heads then makes no difference.

    Args:
        d_model, d_ff, num_layers, vocab_size: What the sliders begin with.

    Raises:
        UserError: a value lies outside its slider.
    """
    start = {"d_model": d_model, "d_ff": d_ff, "num_layers": num_layers, "vocab_size": vocab_size}
    sliders = [slider(name, value, *SLIDERS[name]) for name, value in start.items()]
    tied = alt.binding_radio(options=[TIED, UNTIED], name="embeddings ")
    controls = [*sliders, alt.param(name="embeddings", value=TIED, bind=tied)]
    rows = alt.Data(values=[{"part": part} for part in PARTS])
    base = (
        alt.Chart(rows)
        .transform_calculate(millions=f"({_which()}) / 1e6")
        .encode(
            y=alt.Y("part:N", title=None, sort=list(PARTS)),
            x=alt.X("millions:Q", title="parameters (millions)"),
        )
    )
    scale = alt.Scale(domain=list(PARTS), range=list(COLORS))
    bars = base.mark_bar(aria=False).encode(color=alt.Color("part:N", scale=scale, legend=None))
    figures = base.mark_text(align="left", dx=4, aria=False).encode(
        text=alt.Text("millions:Q", format=".1f")
    )
    title = f"'Parameters: ' + format(({TOTAL}) / 1e6, '.1f') + ' million'"
    return alt.LayerChart(layer=[bars.add_params(*controls), figures]).properties(
        name="parameters",
        width=460,
        height=180,
        title=alt.Title(text=alt.ExprRef(title), anchor="start"),
        description=(
            "Bar chart of a Transformer's parameters in millions by part: "
            f"{', '.join(PARTS)}. Sliders change d_model, d_ff, num_layers and vocab_size; a "
            "choice ties or unties the embeddings and the softmax."
        ),
    )


def _which() -> str:
    """Choose a row's own formula."""
    cases = [f"datum.part == '{part}' ? {formula}" for part, formula in PARTS.items()]
    return " : ".join([*cases, "0"])
