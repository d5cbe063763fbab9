"""A docstring of this package as a page shows it: paragraphs, lists, and what goes in and out.

The form is the one of `transformer/`: paragraphs; lists, each entry with a hyphen or a number;
indented code; sections such as `Args:`, whose entries are `name: text` or text alone; `code` in
backticks; what is said with *stress* between asterisks.
"""

import re
from collections.abc import Iterator
from textwrap import dedent

from docutils import nodes

SECTIONS = ("Args", "Attributes", "Raises", "Returns", "Yields")
ENTRY = re.compile(r"(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*):\s(.*)", re.DOTALL)
LIST = re.compile(r"(?:-|\d\.) +")
MARKED = re.compile(r"`([^`]+)`|(?<![\w*])\*(\w(?:[^*`]*[\w.!?])?)\*(?![\w*])")


def to_nodes(docstring: str) -> list[nodes.Node]:
    """Return a docstring, its margin taken away, as nodes of a page."""
    found: list[nodes.Node] = []
    for block in re.split(r"\n\s*\n", docstring.strip("\n")):
        title, _, body = block.partition("\n")
        if title.rstrip(":") in SECTIONS and title.endswith(":"):
            found += [nodes.rubric(text=title.rstrip(":")), _section(title, dedent(body))]
        elif block.startswith("    "):
            found.append(_code(dedent(block)))
        elif LIST.match(block):
            found.append(_list(block))
        else:
            found.append(nodes.paragraph("", "", *inline(block)))
    return found


def inline(text: str) -> Iterator[nodes.Node]:
    """Yield a text on one line: backticks hold code, asterisks what is said with stress."""
    text, end = " ".join(text.split()), 0
    for found in MARKED.finditer(text):
        if before := text[end : found.start()]:
            yield nodes.Text(before)
        code, stressed = found.groups()
        yield nodes.literal(text=code) if code else nodes.emphasis(text=stressed)
        end = found.end()
    if rest := text[end:]:
        yield nodes.Text(rest)


def _section(title: str, body: str) -> nodes.Node:
    entries = [ENTRY.fullmatch(entry) for entry in re.split(r"\n(?=\S)", body)]
    if title.startswith(("Returns", "Yields")) or not all(entries):
        return nodes.paragraph("", "", *inline(body))
    items = nodes.definition_list()
    for entry in filter(None, entries):
        names, text = entry.groups()
        term = nodes.term("", "", nodes.literal(text=names))
        meaning = nodes.definition("", nodes.paragraph("", "", *inline(text)))
        items += nodes.definition_list_item("", term, meaning)
    return items


def _code(text: str) -> nodes.Node:
    return nodes.literal_block(text, text, language="none")


def _list(block: str) -> nodes.Node:
    items = nodes.bullet_list() if block.startswith("-") else nodes.enumerated_list()
    for text in re.split(r"\n(?=\S)", block):
        items += nodes.list_item("", nodes.paragraph("", "", *inline(LIST.sub("", text))))
    return items
