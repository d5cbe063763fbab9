"""The renderer: every form of a chart and of a figure, twice the same, said in words."""

import base64
import json
import re
import sys
from io import BytesIO
from types import ModuleType
from typing import Any

import altair as alt
import pytest
from matplotlib import pyplot as plt
from PIL import Image

from lessonkit.charts import renderer, schedule_explorer
from transformer.support.errors import UserError


def shown(chart: alt.TopLevelMixin) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a notebook asks a chart for: the forms and their metadata."""
    return chart._repr_mimebundle_(None, None)  # type: ignore[no-any-return]


def image(forms: dict[str, Any]) -> Image.Image:
    return Image.open(BytesIO(base64.b64decode(forms["image/png"], validate=True))).convert("RGBA")


def test_a_chart_is_stored_in_three_forms() -> None:
    backend = plt.get_backend()
    renderer.enable()
    assert plt.get_backend() == backend  # nothing changes outside a notebook
    forms, metadata = shown(schedule_explorer())
    assert set(forms) == {renderer.VEGALITE_MIME_TYPE, "image/png", "text/plain"}
    spec, picture, on_page = forms[renderer.VEGALITE_MIME_TYPE], image(forms), metadata["image/png"]
    assert spec["$schema"] == "https://vega.github.io/schema/vega-lite/v5.json"
    assert len(set(picture.convert("L").tobytes())) > 5  # drawn, not blank
    for side, length in zip(("width", "height"), picture.size, strict=True):
        assert length == pytest.approx(renderer.PICTURE_SCALE * on_page[side], abs=1)
    assert on_page["alt"] == forms["text/plain"] == spec["description"]
    assert len(json.dumps(forms)) < 70_000
    # The page itself is looked at in tests/browser.
    layout = metadata[renderer.VEGALITE_MIME_TYPE]["embed_options"]
    assert layout["actions"] is False
    assert ".vega-bindings { order: -1;" in layout["defaultStyle"]


def test_a_chart_leaves_the_ground_to_the_page_and_is_read_on_white_and_black() -> None:
    spec = schedule_explorer().to_dict()
    before = json.dumps(spec)
    forms, _ = renderer.to_mime_bundle(spec)
    config = forms[renderer.VEGALITE_MIME_TYPE]["config"]
    assert config["background"] == "transparent"
    for text in (config["title"]["color"], config["style"]["guide-label"]["fill"]):
        light = (int(text[1:3], 16) / 255) ** 2.2  # of a grey
        assert min(1.05 / (light + 0.05), (light + 0.05) / 0.0556) > 4  # from white, from #111111
    assert image(forms).getextrema()[3] == (0, 255)
    assert renderer.to_mime_bundle(spec)[0] == forms
    assert json.dumps(spec) == before
    spec |= {"config": {"background": "#eeeeee"}, "description": "Masks of\n  two sentences."}
    forms, _ = renderer.to_mime_bundle(spec)
    # What the chart says itself stands.
    assert forms[renderer.VEGALITE_MIME_TYPE]["config"]["background"] == "#eeeeee"
    assert forms["text/plain"] == "Masks of two sentences."


def test_colab_gets_html_and_keeps_picture_and_text(monkeypatch: pytest.MonkeyPatch) -> None:
    renderer.enable()
    here, _ = shown(schedule_explorer())
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    there, metadata = shown(schedule_explorer())
    assert set(there) == {"text/html", "image/png", "text/plain"}
    assert there["image/png"] == here["image/png"]
    assert there["text/plain"] == here["text/plain"] == metadata["image/png"]["alt"]
    assert f'src="data:image/png;base64,{here["image/png"]}"' in there["text/html"]
    drawn = re.search(r"vegaEmbed\(place, (.*), \{mode", there["text/html"])
    assert json.loads(drawn[1]) == here[renderer.VEGALITE_MIME_TYPE]


def test_texts_end_neither_the_script_nor_the_tag_on_colab() -> None:
    spec = {"mark": "bar", "title": "</script><b>"}
    metadata = {"image/png": {"width": 211, "height": 97}}

    def page(spec: dict[str, Any]) -> str:
        forms = {
            renderer.VEGALITE_MIME_TYPE: spec,
            "image/png": "UE5H",
            "text/plain": 'Says "<b>" & more',
        }
        return str(renderer.to_colab_bundle(forms, metadata)["text/html"])

    said = page(spec)
    assert said.count("</script>") == said.count("<b>") == 1
    assert 'width="211" height="97" alt="Says &quot;&lt;b&gt;&quot; &amp; more"' in said
    assert '"<\\/script><b>"' in said
    assert said == page(dict(reversed(spec.items())))  # each has its place, always the same
    assert said.splitlines()[0] != page(spec | {"mark": "line"}).splitlines()[0]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(UserError, match="pip install vl-convert-python"):
        renderer.enable()
    assert alt.renderers.active != renderer.RENDERER_NAME


def test_a_figure_is_described_by_its_titles_and_axes_and_shrunk() -> None:
    figure, axes = plt.subplots(1, 3)
    figure.suptitle("Two maps\nof one sentence")
    for ax, title in zip(axes, ("encoder", "decoder", ""), strict=True):
        drawn = ax.imshow([[0.0, 1.0], [0.5, 0.5]])
        ax.set(title=title, xlabel="key")
    axes[0].set_ylabel("query")
    axes[2].set_axis_off()
    figure.colorbar(drawn, ax=axes, label="weight")
    assert renderer.describe_figure(figure) == (
        "Picture: Two maps of one sentence; encoder (horizontal: key, vertical: query); "
        "decoder (horizontal: key); colour: weight."
    )
    stored = BytesIO()
    figure.savefig(stored, format="png")
    small, size = renderer.shrink_png(stored.getvalue())
    assert len(small) < len(stored.getvalue())
    before, after = (Image.open(BytesIO(p)).convert("RGB") for p in (stored.getvalue(), small))
    assert before.size == after.size == size
    differences = [abs(a - b) for a, b in zip(before.tobytes(), after.tobytes(), strict=True)]
    assert max(differences) < 64  # of 255
    assert sum(differences) / len(differences) < 0.5


def test_a_stored_picture_is_cropped_to_a_margin_on_every_side() -> None:
    image = Image.new("RGBA", (83, 61), (0, 0, 0, 0))
    image.paste((213, 94, 0, 255), (0, 11, 31, 17))  # it touches the left edge, and no other
    stored = BytesIO()
    image.save(stored, format="png")
    margin = renderer.PICTURE_MARGIN_PIXELS
    small, size = renderer.shrink_png(stored.getvalue())
    assert size == (31 + 2 * margin, 6 + 2 * margin)
    shown = Image.open(BytesIO(small)).convert("RGBA").getbbox()
    assert shown == (margin, margin, margin + 31, margin + 6)
    assert margin > 0
