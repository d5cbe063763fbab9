"""Where a Transformer's parameters sit, recomputed in the browser (Table 3, last column)."""

import altair as alt

from lessonkit.charts.controls import colours, layered, radio, slider
from lessonkit.charts.style import CROSS, OURS, PAPER, SOURCE, TARGET

TIED, UNTIED = "one matrix (§3.4)", "three matrices"

# What `table_3.expected_parameters` adds up, part by part, in the language of Vega.
PARTS = {
    "embeddings and softmax": f"vocab_size * d_model * (embeddings == '{TIED}' ? 1 : 3)",
    "self-attention": "num_layers * 2 * 4 * d_model * d_model",
    "cross-attention": "num_layers * 4 * d_model * d_model",
    "feed-forward": "num_layers * 2 * (2 * d_model * d_ff + d_ff + d_model)",
    "layer norms": "num_layers * 5 * 2 * d_model",
}
TOTAL = " + ".join(f"({part})" for part in PARTS.values())


def parameters_explorer() -> alt.LayerChart:
    """Draw how many parameters each part of the model has, with a slider for each size (§3).

    It counts the paper's model: post-norm, d_k = d_v = d_model / num_heads, no biases in
    attention, sinusoidal positions. The number of heads then makes no difference.
    """
    controls = [
        slider("d_model", 512, 64, 1024, 64),
        slider("d_ff", 2048, 256, 4096, 256),
        slider("num_layers", 6, 1, 12),
        slider("vocab_size", 37_000, 1000, 50000, 1000),
        radio("embeddings", TIED, [TIED, UNTIED]),
    ]
    which = " : ".join(f"datum.part == '{part}' ? {formula}" for part, formula in PARTS.items())
    base = (
        alt.Chart(alt.Data(values=[{"part": part} for part in PARTS]))
        .transform_calculate(millions=f"({which} : 0) / 1e6")
        .encode(
            y=alt.Y("part:N", title=None, sort=list(PARTS)),
            x=alt.X("millions:Q", title="parameters (millions)"),
        )
    )
    color = alt.Color("part:N", scale=colours(PARTS, (PAPER, SOURCE, CROSS, OURS, TARGET)))
    figures = base.mark_text(align="left", dx=4, aria=False)
    layers = [
        base.mark_bar(aria=False).encode(color.legend(None)),
        figures.encode(text=alt.Text("millions:Q", format=".1f")),
    ]
    title = f"'Parameters: ' + format(({TOTAL}) / 1e6, '.1f') + ' million'"
    description = (
        "Bar chart of a Transformer's parameters in millions by part: "
        f"{', '.join(PARTS)}. Sliders change d_model, d_ff, num_layers and vocab_size; a "
        "choice ties or unties the embeddings and the softmax."
    )
    return layered("parameters", (460, 180), title, controls, layers, description)
