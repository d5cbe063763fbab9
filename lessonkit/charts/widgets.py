"""A line to type in, and below it what a model does with the sentence (a kernel is needed).

Not in the paper. Press Enter to translate. A sentence that cannot be shown gets a line that says
why, and the last picture stays.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt
import ipywidgets as widgets
from torch import Tensor

from lessonkit.analysis.ablation import translate_without_each_head
from lessonkit.analysis.heads import Head
from lessonkit.charts.heads import heads_explorer
from lessonkit.charts.renderer import HTML_MIME_TYPE
from lessonkit.colab import is_on_colab
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

WidgetOutputFunction = Callable[..., tuple[str, alt.TopLevelMixin]]


@check_argument_types
def attention_widget(
    translator: Translator, sentence: str, means: Mapping[Head, Tensor]
) -> widgets.VBox:
    """Show a sentence's translation and attention, anew whenever the reader types another.

    The chosen head can be removed; the means are from `mean_head_outputs`.
    """

    def answer(text: str) -> tuple[str, alt.TopLevelMixin]:
        attention = translator.attention(text)
        without = translate_without_each_head(translator, text, means)
        return attention.translation, heads_explorer(attention, 1, without)

    return _make_sentence_and_chart_widget(translator, sentence, answer)


@check_argument_types
def interactive_widget(
    translator: Translator,
    sentence: str,
    answer: WidgetOutputFunction,
    **sliders: tuple[float, float, float],
) -> widgets.VBox:
    """Run a function of the lesson on whatever sentence the reader types.

    It runs anew when a slider is let go, too.

    Args:
        translator, sentence: The model, and what stands in the line at first.
        answer: Takes the sentence, and each slider's value by the slider's name. Gives a text, of
            one line or several, and a chart that is shown below it.
        sliders: By name: the lowest value, the highest, and the one to begin with. They go in
            whole numbers if all three are whole, in tenths otherwise.
    """
    slider_widgets = [_make_slider_widget(name, ends) for name, ends in sliders.items()]
    return _make_sentence_and_chart_widget(translator, sentence, answer, slider_widgets)


def _make_slider_widget(name: str, ends: tuple[float, float, float]) -> widgets.ValueWidget:
    low, high, value = ends
    common: dict[str, Any] = {"min": low, "max": high, "value": value, "continuous_update": False}
    common |= {"description": name, "style": {"description_width": "initial"}}
    if all(isinstance(end, int) for end in ends):
        return widgets.IntSlider(**common)
    return widgets.FloatSlider(step=0.1, readout_format=".1f", **common)


def _make_sentence_and_chart_widget(
    translator: Translator,
    sentence: str,
    answer: WidgetOutputFunction,
    sliders: Sequence[widgets.ValueWidget] = (),
) -> widgets.VBox:
    """Put a line, sliders, what the model says and a picture below each other."""
    line = widgets.Text(
        value=sentence,
        description=f"{translator.recipe.data.src_lang} to {translator.recipe.data.tgt_lang}",
        continuous_update=False,
        layout=widgets.Layout(width="95%"),
    )
    label = widgets.Label()
    picture = widgets.Output()

    def show(_: object = None) -> None:
        try:
            values = {slider.description: slider.value for slider in sliders}
            text, chart = answer(line.value, **values)
        except UserError as error:
            label.value = str(error)
            return
        label.value, _, more_lines = text.partition("\n")
        outputs = [_chart_to_display_data(chart)]
        if more_lines:
            printed: dict[str, object] = {
                "output_type": "stream",
                "name": "stdout",
                "text": f"{more_lines}\n",
            }
            outputs.insert(0, printed)
        picture.outputs = tuple(outputs)

    for control in (line, *sliders):
        control.observe(show, names="value")
    show()
    return widgets.VBox([line, *sliders, label, picture])


def _chart_to_display_data(chart: alt.TopLevelMixin) -> dict[str, object]:
    """Return a chart as the notebook's renderer shows it, in the form that an output has.

    On Colab without HTML: whether scripts run in this place is not known.
    """
    shown = chart._repr_mimebundle_() or {}
    data, metadata = shown if isinstance(shown, tuple) else (shown, {})
    if is_on_colab():
        data = {kind: form for kind, form in data.items() if kind != HTML_MIME_TYPE}
    return {"output_type": "display_data", "data": data, "metadata": metadata}
