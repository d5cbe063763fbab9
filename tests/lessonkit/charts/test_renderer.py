"""The renderer: every form of a chart, the version that JupyterLab draws, twice the same."""

import base64
import json
import re
import sys
from collections.abc import Iterator
from io import BytesIO
from types import ModuleType
from typing import Any

import altair as alt
import pytest
from lessonkit.charts.explorers.masks import mask_explorer
from lessonkit.charts.explorers.schedule import schedule_explorer
from PIL import Image

from lessonkit.charts import renderer
from transformer.support.errors import UserError


@pytest.fixture(autouse=True)
def _renderer_is_put_back() -> Iterator[None]:
    before = alt.renderers.active
    yield
    alt.renderers.enable(before)


def shown(chart: alt.TopLevelMixin) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a notebook asks a chart for: the forms and their metadata."""
    return chart._repr_mimebundle_(None, None)  # type: ignore[no-any-return]


def test_a_chart_is_stored_in_three_forms() -> None:
    renderer.enable()
    forms, metadata = shown(schedule_explorer())
    assert set(forms) == {"application/vnd.vegalite.v5+json", "image/png", "text/plain"}
    spec = forms["application/vnd.vegalite.v5+json"]
    assert spec["$schema"] == "https://vega.github.io/schema/vega-lite/v5.json"
    picture = base64.b64decode(forms["image/png"], validate=True)
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    image = Image.open(BytesIO(picture))
    assert len(set(image.convert("L").tobytes())) > 5  # drawn, not blank
    on_page = metadata["image/png"]
    assert image.width == pytest.approx(renderer.PICTURE_SCALE * on_page["width"], abs=1)
    assert image.height == pytest.approx(renderer.PICTURE_SCALE * on_page["height"], abs=1)
    assert on_page["alt"] == forms["text/plain"] == spec["description"]
    assert len(forms["image/png"]) < 50_000
    json.dumps(forms)  # nothing in it that a notebook could not store


def test_a_chart_has_its_own_light_ground_and_dark_text_in_any_theme() -> None:
    forms, _ = renderer.bundle(schedule_explorer().to_dict())
    config = forms[renderer.VEGALITE]["config"]
    assert config["background"] == "#ffffff"
    for text in (config["title"]["color"], config["style"]["guide-label"]["fill"]):
        assert max(bytes.fromhex(text[1:])) < 64
    corner = Image.open(BytesIO(base64.b64decode(forms["image/png"]))).convert("RGB")
    assert corner.getpixel((0, 0)) == (255, 255, 255)


def test_what_a_chart_says_of_its_ground_stands() -> None:
    spec = schedule_explorer().to_dict() | {"config": {"background": "#eeeeee"}}
    assert renderer.bundle(spec)[0][renderer.VEGALITE]["config"]["background"] == "#eeeeee"


def test_controls_stand_above_the_picture_and_no_menu_beside_it() -> None:
    """JupyterLab hands this to the library that draws; tests/browser looks at the page."""
    _, metadata = renderer.bundle(schedule_explorer().to_dict())
    layout = metadata[renderer.VEGALITE]["embed_options"]
    assert layout["actions"] is False
    assert ".vega-bindings { order: -1;" in layout["defaultStyle"]


def test_the_text_is_the_description_on_one_line() -> None:
    assert renderer.summary({"description": "Masks of\n  two sentences."}) == (
        "Masks of two sentences."
    )
    assert renderer.summary({}) == "A chart without description."


def test_showing_twice_gives_the_same_and_leaves_the_specification_alone() -> None:
    spec = mask_explorer(["a", "<pad>"], ["<bos>", "b", "c"]).to_dict()
    before = json.dumps(spec)
    assert renderer.bundle(spec) == renderer.bundle(spec)
    assert json.dumps(spec) == before


def test_nothing_changes_until_asked() -> None:
    assert alt.renderers.active != renderer.NAME
    renderer.enable()
    assert alt.renderers.active == renderer.NAME


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
    assert drawn is not None
    assert json.loads(drawn[1]) == here[renderer.VEGALITE]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(UserError, match="pip install vl-convert-python"):
        renderer.enable()
    assert alt.renderers.active != renderer.NAME
