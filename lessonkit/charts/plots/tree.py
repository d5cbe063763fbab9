"""A tree of phrases as a picture: the words below, each phrase above what it holds."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes

from lessonkit.charts.style import OURS, PAPER, SOURCE
from transformer.support.errors import UserError


@dataclass
class _Node:
    """A phrase, or a word with its part of speech (which holds nothing)."""

    label: str
    held: list["_Node"] = field(default_factory=list)
    x: float = 0.0
    height: int = 0


def draw_tree(tree: str, words: Sequence[str], ax: Axes, title: str = "") -> Axes:
    """Draw a tree.

    Args:
        tree: "(S (NP DT NN )NP (VP VB )VP . )S", see `transformer.evaluation.scores`.
        words: The sentence's, one for each part of speech.
        ax: Where to draw.
        title: Above the picture.

    Raises:
        UserError: it is no tree, or has not as many leaves as there are words.
    """
    leaves: list[_Node] = []
    root = _read(tree, leaves)
    if len(leaves) != len(words):
        raise UserError(
            f"the tree has {len(leaves)} parts of speech and the sentence {len(words)} words: "
            "they must be as many"
        )
    _place(root)
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


def _place(node: _Node) -> None:
    """Put each phrase in the middle above what it holds."""
    for each in node.held:
        _place(each)
    if node.held:
        node.x = (node.held[0].x + node.held[-1].x) / 2
        node.height = 1 + max(each.height for each in node.held)


def _draw(node: _Node, ax: Axes) -> None:
    for each in node.held:
        ax.plot([node.x, each.x], [node.height, each.height], color=PAPER, linewidth=1, zorder=1)
        _draw(each, ax)
    color = OURS if node.held else PAPER
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    ax.text(
        node.x, node.height, node.label, ha="center", va="center", color=color, fontsize=9, bbox=box
    )
