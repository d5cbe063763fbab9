"""Every name of the package that a text says in code leads to its page."""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

from course_site.package import ROOMS, Package, Place

ROOM = f"(?:{'|'.join(ROOMS)})"
NAME = re.compile(rf"{ROOM}(?:\.\w+)+|{ROOM}/[\w/]*(?:\.py)?")
HIDDEN = "visually-hidden"  # of the theme: heard, and not seen
MEMBER = re.compile(r"[\w.]+")


def link_names(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Make links of the names on a page; a name of the page itself stays as it is."""
    package: Package = app.config.course_package
    for literal, name in _names(doctree):
        place = package.find(name)
        if place is None or place.page == page:
            continue
        link = nodes.reference("", "", refuri=_address(app, page, place), internal=True)
        literal.replace_self(link)
        link += literal


def leave_words(app: Sphinx, doctree: nodes.document) -> None:
    """A link to what the repository has and the site has not, such as a folder, is its words."""
    folder = (app.config.course_root / app.env.docname).parent
    for link in list(doctree.findall(pending_xref)):
        if link["reftype"] == "myst" and (folder / link["reftarget"]).exists():
            link.replace_self(link.children)


def _names(doctree: nodes.document) -> Iterator[tuple[nodes.literal, str]]:
    """The pieces of code that are names, with the whole name of each."""
    for literal in list(doctree.findall(nodes.literal)):
        if not _linked(literal) and NAME.fullmatch(literal.astext()):
            members = list(_members(literal))
            yield literal, literal.astext()
            yield from members


def name_columns(app: Sphinx, doctree: nodes.document) -> None:
    """A column without a heading, of links or names, gets one for those who hear the page."""
    for head in doctree.findall(nodes.thead):
        for entry in head.findall(nodes.entry):
            if not entry.astext().strip():
                entry += nodes.paragraph("", "", nodes.inline(text="row", classes=[HIDDEN]))


def _linked(node: nodes.Node) -> bool:
    """Whether a node lies in a link or a title, however deep."""
    above = node.parent
    return above is not None and (
        isinstance(above, nodes.reference | nodes.title) or _linked(above)
    )


def _members(literal: nodes.literal) -> Iterator[tuple[nodes.literal, str]]:
    """What follows a folder's name in brackets: `transformer.data` (`corpora`, `bpe`)."""
    siblings = literal.parent.children[literal.parent.index(literal) + 1 :]
    if not siblings or not siblings[0].astext().lstrip().startswith("("):
        return
    for sibling in siblings:
        text = sibling.astext()
        if isinstance(sibling, nodes.literal) and MEMBER.fullmatch(text):
            yield sibling, f"{literal.astext()}.{text}"
        elif not isinstance(sibling, nodes.Text) or ")" in text:
            return


def _address(app: Sphinx, page: str, place: Place) -> str:
    address = app.builder.get_relative_uri(page, place.page)
    return f"{address}#{place.anchor}" if place.anchor else address
