"""A line to type a sentence in, and below it the attention that translates it (a kernel needed)."""

from collections.abc import Callable

import altair as alt
import ipywidgets as widgets

from transformer.charts.explorers.heads import heads_explorer
from transformer.support.errors import UserError
from transformer.trained.translator import Attention, Translator


def sentence_box(
    translator: Translator,
    sentence: str,
    draw: Callable[[Attention], alt.TopLevelMixin] = heads_explorer,
) -> widgets.VBox:
    """Show a sentence's translation and attention, anew whenever the reader types another.

    Not in the paper. Press Enter to translate. A sentence that cannot be shown gets a line
    that says why, and the last picture stays.

    Args:
        translator: The model.
        sentence: What stands in the line at first.
        draw: Makes the picture of an attention.
    """
    languages = f"{translator.recipe.data.src_lang} to {translator.recipe.data.tgt_lang}"
    line = widgets.Text(
        value=sentence,
        description=languages,
        continuous_update=False,
        layout=widgets.Layout(width="95%"),
    )
    said = widgets.Label()
    picture = widgets.Output()

    def show(text: str) -> None:
        try:
            attention = translator.attention(text)
            chart = draw(attention)
        except UserError as error:
            said.value = str(error)
            return
        said.value = attention.translation
        picture.outputs = (_display(chart),)

    line.observe(lambda change: show(change["new"]), names="value")
    show(sentence)
    return widgets.VBox([line, said, picture])


def _display(chart: alt.TopLevelMixin) -> dict[str, object]:
    """Give a chart as the notebook's renderer shows it, in the form that an output has."""
    shown = chart._repr_mimebundle_()
    data, metadata = shown if isinstance(shown, tuple) else (shown, {})
    return {"output_type": "display_data", "data": data, "metadata": metadata}
