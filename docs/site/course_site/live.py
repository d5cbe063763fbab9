"""The page that translates in the browser: the site has a copy; lesson 00 and README lead to it."""

import json
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

from engines.int8_weights import write_int8_model

PREVIEW = "preview.png"  # what a link to the page shows
FIRST_LESSON = "notebooks/00_start_here"
README = "README"
ABOUT = "the-live-page"  # the passage that README's film leads to where there is no such page
INVITATION = "Translate in the browser"


def copy_live_page(root: Path, site: Path, address: str | None) -> None:
    """Put the page and the models that it reads into a finished site.

    Args:
        root: The course's folder: `docs/live/` and `data/models/` in it.
        site: The site's; it gets `live/` and `live/models/NAME/`, with weights in 8 bits.
        address: Where the site will be published, "https://.../"; None if nobody knows.
    """
    shutil.copytree(root / "docs" / "live", site / "live", dirs_exist_ok=True)
    for name in model_names(root):
        write_int8_model(root / "data" / "models" / name, site / "live" / "models" / name)
    index = site / "live" / "index.html"
    if address:
        # Other sites, which show the picture beside a link, need its whole address.
        page = index.read_text("utf-8")
        whole = page.replace(f'content="{PREVIEW}"', f'content="{address}live/{PREVIEW}"')
        index.write_text(whole, encoding="utf-8")


def model_names(root: Path) -> list[str]:
    """Return the names of the models that the page offers."""
    listed = (root / "docs" / "live" / "models.json").read_text(encoding="utf-8")
    return list(json.loads(listed)["models"])


def link_live_page(app: Sphinx, doctree: nodes.document) -> None:
    """Lead to the page that translates: from README's film, and from the first lesson's head."""
    if app.env.docname == README:
        for link in list(doctree.findall(pending_xref)):
            if link.get("reftargetid") == ABOUT:
                page = nodes.reference("", "", refuri="live/index.html", internal=True)
                page += link.children
                link.replace_self(page)
    if app.env.docname != FIRST_LESSON:
        return
    link = nodes.reference("", INVITATION, refuri="../live/index.html", internal=True)
    text = nodes.Text(
        ": type a sentence, and one of the course's models translates it in the page."
    )
    first = next(doctree.findall(nodes.bullet_list))
    first.parent.insert(
        first.parent.index(first), nodes.paragraph("", "", link, text, classes=["live"])
    )
