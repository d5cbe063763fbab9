"""The stored pictures and charts of a lesson: their alt text, and charts that move.

MyST-NB takes the picture of an output and leaves alone what else is stored with it. Here each
picture gets the alt text of its metadata, and where a chart was stored beside it, its
specification follows, compiled to Vega: `static/charts.js` draws it in the picture's place.
Without JavaScript the picture stays. A picture that lies elsewhere is not fetched: a badge
becomes its words.
"""

import json
from typing import Any

import vl_convert
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_site.lessons import Lesson

Output = dict[str, Any]
PICTURE = "image/png"
VEGALITE = "application/vnd.vegalite.v5+json"
VEGALITE_VERSION = "5.20"  # the one that the stored pictures are drawn with


def stored_pictures(lesson: Lesson) -> list[Output]:
    """The outputs of a lesson that hold a picture, in their order."""
    outputs = (output for cell in lesson.cells for output in cell.get("outputs", []))
    return [output for output in outputs if PICTURE in output.get("data", {})]


def alt_text(output: Output) -> str:
    """What a stored picture shows, in words: its alt text, or else its line of text."""
    alt = output["metadata"].get(PICTURE, {}).get("alt")
    return alt or "".join(output["data"].get("text/plain", ""))


def chart(output: Output) -> nodes.raw | None:
    """The specification of a stored chart, as a page holds it; None where there is none."""
    spec = output["data"].get(VEGALITE)
    if spec is None:
        return None
    options = output["metadata"].get(VEGALITE, {}).get("embed_options", {})
    drawing = vl_convert.vegalite_to_vega(spec, vl_version=VEGALITE_VERSION)
    del drawing["$schema"]  # Vega 6, which draws what is compiled for Vega 5, warns of its name
    text = json.dumps([drawing, options], ensure_ascii=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c")
    return nodes.raw("", f'<script type="application/json">{text}</script>', format="html")


def describe_pictures(app: Sphinx, doctree: nodes.document) -> None:
    """Add alt text to the pictures of a lesson's page, and their drawing to its charts."""
    for image in list(doctree.findall(nodes.image)):
        if "://" in image["uri"]:
            image.replace_self(nodes.Text(image.get("alt", "")))
    path = app.srcdir / f"{app.env.docname}.ipynb"
    if not path.is_file():
        return
    shown = [
        image
        for image in doctree.findall(nodes.image)
        if "jupyter_execute" in image["uri"] and not image.get("alt")
    ]
    for image, output in zip(shown, stored_pictures(Lesson(path)), strict=True):
        image["alt"] = alt_text(output)
        if drawn := chart(output):
            image.replace_self(nodes.container("", image.deepcopy(), drawn, classes=["chart"]))


class LessonChart(SphinxDirective):
    """A chart of a lesson on another page: the lesson's name, and which chart of it, from 1."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Return the chart alone: on the page that has it, JavaScript draws it."""
        lesson = Lesson(self.config.course_root / "notebooks" / f"{self.arguments[0]}.ipynb")
        self.env.note_dependency(str(lesson.path))
        charts = [output for output in stored_pictures(lesson) if chart(output)]
        output = charts[int(self.arguments[1]) - 1]
        data = f"data:image/png;base64,{output['data'][PICTURE].strip()}"
        size = {key: str(output["metadata"][PICTURE][key]) for key in ("width", "height")}
        picture = nodes.image(uri=data, alt=alt_text(output), candidates={"*": data}, **size)
        return [nodes.container("", picture, chart(output), classes=["chart"])]
