"""How Sphinx builds the course's site. `make site` calls it, by way of `build.py`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs" / "site"), str(ROOT / "docs" / "colab"), str(ROOT)]

import sphinxcontrib.katex  # noqa: E402
from course_site.package import Package  # noqa: E402
from stamping import address, readme  # noqa: E402

project = "Attention Is All You Need, in notebooks"
language = "en"
extensions = ["myst_nb", "sphinxcontrib.katex", "course_site"]
course_root = ROOT
course_package = Package(ROOT)
course_address = readme.read_site(ROOT / "pyproject.toml")

include_patterns = [
    *("index.md", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "package/**.md"),
    *("notebooks/*.ipynb", "docs/*.md", "docs/decisions/*.md", "docs/upstream/*.md"),
    *("attention_laws/README.md", "figures/README.md", "data/README.md"),
    "data/models/*/README.md",
]
suppress_warnings = [
    "mystnb.unknown_mime_type",  # a chart's specification: course_site.outputs sees to it
    "toc.not_included",  # cards and decisions are reached by links
]

# Lessons are shown as they are stored.
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Formulas are drawn while the site is built, and one that is wrong ends the build.
katex_prerender = True
katex_css_path = "katex/katex.min.css"
sphinxcontrib.katex.KATEX_DEFAULT_OPTIONS = {"throwOnError": True, "strict": "error"}

html_theme = "furo"
html_title = project
html_logo = "static/logo.svg"
html_favicon = "static/logo.svg"
html_static_path = ["static", str(ROOT / "build" / "site-static")]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_scaled_image_link = False
html_use_index = False
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
templates_path = ["templates"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00598c", "color-brand-content": "#00598c"},
    "dark_css_variables": {"color-brand-primary": "#6fc0f0", "color-brand-content": "#6fc0f0"},
    "top_of_page_buttons": [],
}
if repo := address.read(ROOT / "pyproject.toml"):
    html_theme_options["footer_icons"] = [
        {
            "name": "The course's repository",
            "url": f"{address.GITHUB}{repo}",
            "html": "The course's repository",
            "class": "",
        }
    ]
