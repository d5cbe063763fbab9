"""The extension of Sphinx that makes the course's site: see `docs/site/build.py`."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from course_site.gaps import GAP_ELEMENT
from course_site.head import add_head_elements
from course_site.lessons import Lessons, leave_out_set_up
from course_site.live import link_live_page
from course_site.names import leave_words, link_names, name_columns
from course_site.outputs import LessonChart, describe_pictures
from course_site.package_pages import Beside


def scripts_of_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load Vega where a page has a chart, and what judges gaps where it has any."""
    if doctree is None:
        return
    if any("chart" in container["classes"] for container in doctree.findall(nodes.container)):
        app.add_js_file("vega.js", loading_method="defer")
        app.add_js_file("charts.js", loading_method="defer")
    if any(GAP_ELEMENT in raw.astext() for raw in doctree.findall(nodes.raw)):
        app.add_js_file("gaps.js", loading_method="defer")


def shown_branch(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Open the sidebar's tree at the page that is shown alone: the package has many pages."""
    if whole := context.get("toctree"):
        context["toctree"] = lambda **options: whole(**options | {"collapse": True})


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.add_config_value("course_root", None, "env")
    app.add_config_value("course_package", None, "")
    app.add_config_value("course_address", None, "html")
    app.add_directive("beside", Beside)
    app.add_directive("lessons", Lessons)
    app.add_directive("lesson-chart", LessonChart)
    app.connect("doctree-read", describe_pictures)
    app.connect("doctree-read", leave_out_set_up)
    app.connect("doctree-read", leave_words)
    app.connect("doctree-read", name_columns)
    app.connect("doctree-read", link_live_page)
    app.connect("doctree-resolved", link_names)
    app.connect("html-page-context", add_head_elements)
    app.connect("html-page-context", scripts_of_page)
    app.connect("html-page-context", shown_branch, priority=400)  # before the theme's
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
