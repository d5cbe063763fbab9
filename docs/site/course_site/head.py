"""What a page says of itself to search engines, and where its link is shown: head elements."""

import html
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

MAX_DESCRIPTION_CHARACTERS = 200
PICTURE = "architecture.png"  # of figures/, beside the style sheet


def describe(doctree: nodes.document) -> str:
    """Return the first sentences below a page's title, `MAX_DESCRIPTION_CHARACTERS` at most.

    The cells of tables are none, nor are elements of HTML, or a link alone, which a badge is.
    """
    text = ""
    for paragraph in doctree.findall(nodes.paragraph):
        link_alone = all(isinstance(part, nodes.reference) for part in paragraph.children)
        if link_alone or isinstance(paragraph.parent, nodes.entry):
            continue
        pieces = paragraph.findall(nodes.Text)
        words = "".join(piece for piece in pieces if not isinstance(piece.parent, nodes.raw))
        text = f"{text} {' '.join(words.split())}".strip()
        if len(text) >= MAX_DESCRIPTION_CHARACTERS // 2:
            break
    if len(text) <= MAX_DESCRIPTION_CHARACTERS:
        return text
    return text[: MAX_DESCRIPTION_CHARACTERS - 4].rpartition(" ")[0] + " ..."


def add_head_elements(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add a page's description; with the site's address, the picture of its links too."""
    if doctree is None:
        return
    heading = doctree.next_node(nodes.title)
    title = html.escape(heading.astext() if heading else app.config.project)
    description = html.escape(describe(doctree))
    entries = [
        f'<meta name="description" content="{description}">',
        f'<meta property="og:title" content="{title}">',
        f'<meta property="og:description" content="{description}">',
        '<meta property="og:type" content="article">',
    ]
    if address := app.config.course_address:
        entries.append(f'<meta property="og:url" content="{address}{page}.html">')
        entries.append(f'<meta property="og:image" content="{address}_static/{PICTURE}">')
    context["metatags"] = context.get("metatags", "") + "\n".join(entries)
