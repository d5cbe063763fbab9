"""How a notebook shows and stores an interactive chart.

Altair's own renderers fetch scripts from the network, or write a version of Vega-Lite that
JupyterLab cannot draw. The one here stores three forms of a chart side by side, and each
place takes the one it knows: JupyterLab the chart that moves, GitHub the picture, a screen
reader the line of text. What matplotlib draws is stored likewise, by `charts.pictures`.
"""

import base64
from typing import Any

import altair as alt

from lessonkit.charts import colab, pictures
from lessonkit.charts.controls import ABOVE
from lessonkit.charts.style import ON_WHITE
from lessonkit.colab import on_colab
from transformer.support.errors import UserError

NAME = "course"
VEGALITE = "application/vnd.vegalite.v5+json"
PICTURE = "image/png"
TEXT = "text/plain"
HTML = "text/html"
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
PICTURE_VERSION = "5.20"  # of Vega-Lite; known to every vl-convert from 1.7
PICTURE_SCALE = 1.5  # pixels of the picture for each of the chart's

Bundle = dict[str, Any]


def enable() -> None:
    """Show and store every chart of this notebook in a form that needs no network.

    Colab knows no such form: there HTML takes the place of Vega-Lite, and fetches its scripts.
    Figures of matplotlib get a line of text and a smaller picture.

    Raises:
        UserError: vl-convert, which makes the pictures, is missing.
    """
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise UserError("a chart needs vl-convert: pip install vl-convert-python") from error
    alt.renderers.register(NAME, _render)
    alt.renderers.enable(NAME)
    pictures.enable()


def bundle(spec: dict[str, Any]) -> tuple[Bundle, Bundle]:
    """Give a chart in every form that is stored.

    Args:
        spec: A Vega-Lite specification, from `chart.to_dict()`.

    Returns:
        The forms by MIME type: Vega-Lite 5, a PNG picture (base64) and a line of text; and
        their metadata: how a page lays the chart out, and the picture's size there in pixels
        and alt text.
    """
    import vl_convert

    spec = spec | {"$schema": SCHEMA, "config": ON_WHITE | spec.get("config", {})}
    drawn = vl_convert.vegalite_to_png(spec, vl_version=PICTURE_VERSION, scale=PICTURE_SCALE)
    picture, (width, height) = pictures.shrink(drawn)
    forms = {
        VEGALITE: spec,
        PICTURE: base64.b64encode(picture).decode("ascii"),
        TEXT: summary(spec),
    }
    size = {"width": round(width / PICTURE_SCALE), "height": round(height / PICTURE_SCALE)}
    return forms, {VEGALITE: ABOVE, PICTURE: size | {"alt": summary(spec)}}


def for_colab(forms: Bundle, metadata: Bundle) -> Bundle:
    """Give a chart's forms with HTML in the place of Vega-Lite.

    Args:
        forms, metadata: As `bundle` gives them.
    """
    shown = {PICTURE: forms[PICTURE], TEXT: forms[TEXT]}
    size = {side: metadata[PICTURE][side] for side in ("width", "height")}
    return {HTML: colab.page(forms[VEGALITE], forms[PICTURE], **size, text=forms[TEXT])} | shown


def summary(spec: dict[str, Any]) -> str:
    """Give a chart's description on one line."""
    return " ".join(str(spec.get("description", "A chart without description.")).split())


def _render(spec: dict[str, Any], **_: object) -> tuple[Bundle, Bundle]:
    forms, metadata = bundle(spec)
    return (for_colab(forms, metadata) if on_colab() else forms), metadata
