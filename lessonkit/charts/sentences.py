"""Sentences as pictures: words of one meaning joined by lines, and a tree of phrases."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes

from lessonkit.charts.style import OURS, PAPER, SOURCE, TARGET
from transformer.support.errors import UserError

GAP = 2.5  # letters between two words


@dataclass
class _Node:
    """A phrase, or a word with its part of speech (which holds nothing)."""

    label: str
    held: list["_Node"] = field(default_factory=list)
    x: float = 0.0
    height: int = 0


def draw_alignment(
    src_tokens: Sequence[str],
    tgt_tokens: Sequence[str],
    links: Collection[tuple[int, int]],
    ax: Axes,
    title: str = "",
) -> Axes:
    """Draw a sentence above its translation, with a line for each link.

    Not in the paper: gold alignments are the embedded corpus's own. Links are pairs (source word,
    target word), counted from 0.
    """
    places = _places(src_tokens), _places(tgt_tokens)
    for src, tgt in sorted(links):
        ax.plot((places[0][src], places[1][tgt]), (0.82, 0.18), color=PAPER, linewidth=1.2)
    for tokens, across, height, color in (
        (src_tokens, places[0], 0.92, SOURCE),
        (tgt_tokens, places[1], 0.08, TARGET),
    ):
        for place, token in zip(across, tokens, strict=True):
            ax.text(place, height, token, ha="center", va="center", color=color, fontsize=10)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set_axis_off()
    ax.set_title(title, fontsize=10)
    return ax


def _places(tokens: Sequence[str]) -> list[float]:
    """Give the middle of each word, 0 to 1, in a line that has room for all of them."""
    widths = [len(token) + GAP for token in tokens]
    ends = [sum(widths[: index + 1]) for index in range(len(widths))]
    return [(end - width / 2) / ends[-1] for end, width in zip(ends, widths, strict=True)]


def draw_tree(tree: str, words: Sequence[str], ax: Axes, title: str = "") -> Axes:
    """Draw a tree: the words below, each phrase above what it holds (§6.3).

    "(S (NP DT NN )NP (VP VB )VP . )S" has a word for each part of speech (see
    `transformer.evaluation.scores`); what is no such tree is a UserError.
    """
    leaves: list[_Node] = []
    root = _read(tree, leaves)
    if len(leaves) != len(words):
        raise UserError(
            f"the tree has {len(leaves)} parts of speech and the sentence {len(words)} words: "
            "they must be as many"
        )
    _draw(root, ax)
    for leaf, each in zip(leaves, words, strict=True):
        ax.text(leaf.x, -0.75, each, ha="center", va="top", color=SOURCE, fontsize=9)
    ax.set_xlim(-0.7, len(words) - 0.3)
    ax.set_ylim(-1.4, root.height + 0.5)
    ax.set_axis_off()
    ax.set_title(title, fontsize=10)
    return ax


def _read(tree: str, leaves: list[_Node]) -> _Node:
    """Make the nodes; collect the leaves, each in its place."""
    top = _Node("")
    opened = [top]
    for token in tree.split():
        if token.startswith("("):
            opened.append(_Node(token[1:]))
            opened[-2].held.append(opened[-1])
        elif not token.startswith(")"):
            leaves.append(_Node(token, x=len(leaves)))
            opened[-1].held.append(leaves[-1])
        elif len(opened) > 1 and opened[-1].label == token[1:] and opened[-1].held:
            opened.pop()
        else:
            raise UserError(
                f"no tree: {token!r} closes no open phrase; see transformer.evaluation.scores"
            )
    if len(opened) > 1 or len(top.held) != 1:
        raise UserError("no tree: it needs one phrase that holds all and is closed")
    return top.held[0]


def _draw(node: _Node, ax: Axes) -> None:
    """Draw a phrase in the middle above what it holds, and that first."""
    for each in node.held:
        _draw(each, ax)
    if node.held:
        node.x = (node.held[0].x + node.held[-1].x) / 2
        node.height = 1 + max(each.height for each in node.held)
    for each in node.held:
        ends = [node.height - 0.3, each.height + 0.3]  # clear of the labels
        ax.plot([node.x, each.x], ends, color=PAPER, linewidth=1, zorder=1)
    color = OURS if node.held else PAPER
    place = {"ha": "center", "va": "center", "fontsize": 9}
    ax.text(node.x, node.height, node.label, place, color=color)
