"""What the extension makes of docstrings, lessons and pictures; it needs the extra [site]."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sphinx", reason="needs the extra [site]")

from course_site import head, lessons, live, names, outputs
from course_site.docstrings import to_nodes
from course_site.package import Package
from docutils import nodes
from docutils.utils import new_document
from sphinx.addnodes import pending_xref

from engines.live_page import COPIED_MODEL_FILES
from lessonkit.charts.renderer import PICTURE_VEGALITE_VERSION, VEGALITE_MIME_TYPE
from tests.helpers import ROOT
from transformer.models.folder import MANIFEST

DOCSTRING = """Do `it`, *once or twice*, on
two lines.

Args:
    x, y: Numbers, which
        go on.
    **options: More.

Returns:
    The sum: `x` and y.

- one
- two
  lines

    code(1)
"""


def test_a_docstring_is_paragraphs_entries_lists_and_code() -> None:
    found = to_nodes(DOCSTRING)
    assert [type(node).__name__ for node in found] == [
        *("paragraph", "rubric", "definition_list", "rubric", "paragraph"),
        *("bullet_list", "literal_block"),
    ]
    assert found[0].astext() == "Do it, once or twice, on two lines."
    assert [node.astext() for node in found[0].findall(nodes.emphasis)] == ["once or twice"]
    assert [term.astext() for term in found[2].findall(nodes.term)] == ["x, y", "**options"]
    assert "Numbers, which go on." in found[2].astext()
    assert found[4].astext() == "The sum: x and y."
    assert [item.astext() for item in found[5].findall(nodes.list_item)] == ["one", "two lines"]
    assert found[6].astext() == "code(1)"


def notebook(folder: Path, *cells: dict[str, Any]) -> lessons.Lesson:
    path = folder / "03_a_subject.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return lessons.Lesson(path)


HEAD = """# 03 · A subject

[![Open in Colab](https://x/y.svg)](https://colab.research.google.com/github/me/it/a)

It opens
[so](there.ipynb).

- **Paper sections:** §1,
  §2
- **Modules:** `transformer.data` (`batches`, `tokenizers`), `transformer.masks`"""


def test_a_lesson_says_what_it_is_and_what_it_names(tmp_path: Path) -> None:
    code = "from transformer.model import (\n    Transformer,\n)"
    lesson = notebook(tmp_path, {"source": [HEAD]}, {"source": [code]})
    assert (lesson.number, lesson.name, lesson.opening) == ("03", "A subject", "It opens so.")
    assert lesson.sections == "§1, §2"
    assert {"transformer.data.batches", "transformer.masks", "transformer.model"} <= lesson.modules
    assert "transformer.model.Transformer" in lesson.modules


SPEC = {
    "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
    "data": {"values": [{"a": "</script>", "b": 2}]},
    "mark": "bar",
    "encoding": {"x": {"field": "a", "type": "nominal"}, "y": {"field": "b", "type": "ordinal"}},
}


def stored(alt: str | None, spec: dict[str, Any] | None) -> dict[str, Any]:
    data = {"image/png": "aGVsbG8=", "text/plain": ["In ", "words."]}
    metadata = {"image/png": {"alt": alt}} if alt else {}
    return {"data": data | ({outputs.VEGALITE: spec} if spec else {}), "metadata": metadata}


def test_pictures_get_their_words_and_charts_their_drawing(tmp_path: Path) -> None:
    two = [stored("A line.", None), stored(None, SPEC)]
    lesson = notebook(tmp_path, {"source": []}, {"source": [], "outputs": two})
    page = new_document("page")
    page += [nodes.image(uri=f"jupyter_execute/{name}.png") for name in "ab"]
    page += nodes.image(uri="https://example.org/badge.svg", alt="Open it")
    app: Any = SimpleNamespace(srcdir=tmp_path, env=SimpleNamespace(docname=lesson.stem))
    assert (outputs.VEGALITE, outputs.VEGALITE_VERSION) == (
        VEGALITE_MIME_TYPE,
        PICTURE_VEGALITE_VERSION,
    )
    outputs.describe_pictures(app, page)
    assert [image["alt"] for image in page.findall(nodes.image)] == ["A line.", "In words."]
    (chart,) = page.findall(nodes.container)
    text = chart.children[1].astext()
    assert text.count("</script>") == 1  # the data cannot end the element
    drawing, options = json.loads(text.removeprefix('<script type="application/json">')[:-9])
    assert (drawing["marks"][0]["type"], options) == ("rect", {})
    assert page.children[-1].astext() == "Open it"


def test_a_page_describes_itself_where_its_link_is_shown() -> None:
    page = new_document("page")
    page += nodes.title(text="A <b>")
    page += [nodes.paragraph(text=f'{"word " * 17}"{name}".') for name in "abc"]
    for address in (None, "https://me.github.io/it/"):
        config = SimpleNamespace(course_address=address, project="P")
        context: dict[str, Any] = {}
        head.add_head_elements(SimpleNamespace(config=config), "docs/a", "page.html", context, page)
        elements = context["metatags"].splitlines()
        words = ("word " * 17).strip()
        said = f"{words} &quot;a&quot;. {words} &quot;b&quot;."
        assert elements[0] == f'<meta name="description" content="{said}">'
        assert '<meta property="og:title" content="A &lt;b&gt;">' in elements
        picture = '<meta property="og:image" content="https://me.github.io/it/_static/'
        assert any(element.startswith(picture) for element in elements) == bool(address)
    door = nodes.paragraph("", "", nodes.raw("", "<a href='b'>", format="html"), nodes.Text("Open"))
    listed = new_document("listed")
    badge = nodes.paragraph("", "", nodes.reference("", "Open in Colab", refuri="c"))
    listed += [badge, nodes.entry("", nodes.paragraph(text="a cell")), door]
    assert head.describe(listed) == "Open"
    long = new_document("long")
    long += nodes.paragraph(text="word " * 99)
    assert head.describe(long) == ("word " * 39).strip() + " ..."


def test_every_name_in_code_leads_to_its_page() -> None:
    builder = SimpleNamespace(get_relative_uri=lambda page, target: f"../{target}.html")
    config = SimpleNamespace(course_package=Package(ROOT))
    app: Any = SimpleNamespace(builder=builder, config=config)
    page = new_document("page")
    said = ["transformer.data", "batches", "transformer.masks.causal_mask", "torch.nn", "batches"]
    between = ["", " (", "), ", ", ", ", "]
    text = nodes.paragraph()
    for before, name in zip(between, said, strict=True):
        text += [nodes.Text(before), nodes.literal(text=name)]
    page += text
    inner = nodes.inline("", "", nodes.literal(text="transformer.masks"))  # as in Markdown
    page += nodes.paragraph("", "", nodes.reference("", "", inner, refuri="tour.html"))
    names.link_names(app, page, "notebooks/01_text")
    links = [(link.astext(), link["refuri"]) for link in page.findall(nodes.reference)]
    assert links == [
        ("transformer.data", "../package/transformer/data/index.html"),
        ("batches", "../package/transformer/data/batches.html"),
        ("transformer.masks.causal_mask", "../package/transformer/masks.html#causal_mask"),
        ("transformer.masks", "tour.html"),
    ]


def test_a_link_to_a_folder_is_its_words() -> None:
    env = SimpleNamespace(docname="docs/evidence")
    app: Any = SimpleNamespace(config=SimpleNamespace(course_root=ROOT), env=env)
    page = new_document("page")
    for target in ("../transformer", "../nowhere"):
        words = nodes.inline(text=target)
        page += nodes.paragraph("", "", pending_xref("", words, reftype="myst", reftarget=target))
    names.leave_words(app, page)
    (left,) = page.findall(pending_xref)
    assert left["reftarget"] == "../nowhere"
    assert page.children[0].astext() == "../transformer"


def test_a_column_without_a_heading_gets_one_that_is_heard() -> None:
    page, head = new_document("page"), nodes.thead()
    head += nodes.row("", nodes.entry(), nodes.entry("", nodes.paragraph(text="BLEU")))
    page += nodes.table("", nodes.tgroup("", head, cols=2))
    names.name_columns(SimpleNamespace(), page)  # type: ignore[arg-type]
    assert [entry.astext() for entry in page.findall(nodes.entry)] == ["row", "BLEU"]


def test_the_live_page_gets_the_models_that_it_lists(tmp_path: Path) -> None:
    root, site = tmp_path / "course", tmp_path / "site"
    (root / "docs" / "live" / "js").mkdir(parents=True)
    (root / "docs" / "live" / "js" / "page.js").write_text("1")
    shutil.copyfile(ROOT / "docs" / "live" / "index.html", root / "docs" / "live" / "index.html")
    (root / "docs" / "live" / "models.json").write_text('{"models": {"demo-fr-en": {}}}')
    (root / "data").mkdir()
    (root / "data" / "models").symlink_to(ROOT / "data" / "models")
    live.copy_live_page(root, site, "https://me.github.io/it/")
    assert (site / "live" / "js" / "page.js").read_text() == "1"
    page = (site / "live" / "index.html").read_text()
    assert 'content="https://me.github.io/it/live/preview.png"' in page
    assert [path.name for path in (site / "live" / "models").iterdir()] == ["demo-fr-en"]
    there = {file.name for file in (site / "live" / "models" / "demo-fr-en").iterdir()}
    assert there == {*COPIED_MODEL_FILES, MANIFEST}


def test_readmes_film_leads_to_the_live_page() -> None:
    app: Any = SimpleNamespace(env=SimpleNamespace(docname="README"))
    page = new_document("page")
    for passage in ("the-live-page", "the-site"):
        film = nodes.image(uri="film.webp")
        target = {"reftarget": "docs/publishing", "reftargetid": passage}
        page += nodes.paragraph("", "", pending_xref("", film, reftype="myst", **target))
    live.link_live_page(app, page)
    (link,) = page.findall(nodes.reference)
    assert link["refuri"] == "live/index.html"
    assert [image["uri"] for image in link.findall(nodes.image)] == ["film.webp"]
    (left,) = page.findall(pending_xref)
    assert left["reftargetid"] == "the-site"


def test_a_page_folds_answers_and_says_where_the_lesson_runs(tmp_path: Path) -> None:
    path = tmp_path / "00_a.ipynb"
    badge = "[![Open in Colab](https://x/y.svg)](https://colab.research.google.com/github/me/it/a)"
    for opening, where in ((badge, "[on Colab](https://colab"), ("", "open it with `make lab`")):
        words = {"cell_type": "markdown", "metadata": {}, "source": ["# A\n\n", opening]}
        hidden = {"jupyter": {"outputs_hidden": True}}
        folded = {"cell_type": "code", "metadata": hidden, "source": [""]}
        cells = [words, folded, {"cell_type": "raw", "metadata": {}}]
        path.write_text(json.dumps({"cells": cells}))
        lessons.prepare(path)
        first, second, third = json.loads(path.read_text())["cells"]
        assert where in first["source"]
        assert '<a href="00_a.ipynb" download>' in first["source"]
        assert second["metadata"]["tags"] == ["hide-output"]
        assert third == cells[2]
