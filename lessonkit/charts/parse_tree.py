"""A sentence's tree of phrases, as constituency parsing knows it (§6.3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes

from lessonkit.charts.style import OURS_COLOUR, PAPER_COLOUR, SOURCE_COLOUR
from transformer.support.errors import UserError


@dataclass
class _TreeNode:
    """A phrase, or a word with its part of speech (which holds nothing)."""

    label: str
    held: list["_TreeNode"] = field(default_factory=list)
    x: float = 0.0
    height: int = 0


def draw_parse_tree(tree: str, words: Sequence[str], ax: Axes, title: str = "") -> Axes:
    """Draw a tree: the words below, each phrase above what it holds (§6.3).

    "(S (NP DT NN )NP (VP VB )VP . )S" has a word for each part of speech (see
    `transformer.evaluation.scores`); what is no such tree is a UserError.
    """
    leaves: list[_TreeNode] = []
    root = _parse_tree(tree, leaves)
    if len(leaves) != len(words):
        raise UserError(
            f"the tree has {len(leaves)} parts of speech and the sentence {len(words)} words: "
            "they must be as many"
        )
    _draw_node(root, ax)
    for leaf, each in zip(leaves, words, strict=True):
        ax.text(leaf.x, -0.75, each, ha="center", va="top", color=SOURCE_COLOUR, fontsize=9)
    ax.set_xlim(-0.7, len(words) - 0.3)
    ax.set_ylim(-1.4, root.height + 0.5)
    ax.set_axis_off()
    ax.set_title(title, fontsize=10)
    return ax


def _parse_tree(tree: str, leaves: list[_TreeNode]) -> _TreeNode:
    """Make the nodes; collect the leaves, each in its place."""
    top = _TreeNode("")
    opened = [top]
    for token in tree.split():
        if token.startswith("("):
            opened.append(_TreeNode(token[1:]))
            opened[-2].held.append(opened[-1])
        elif not token.startswith(")"):
            leaves.append(_TreeNode(token, x=len(leaves)))
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


def _draw_node(node: _TreeNode, ax: Axes) -> None:
    """Draw a phrase in the middle above what it holds, and that first."""
    for each in node.held:
        _draw_node(each, ax)
    if node.held:
        node.x = (node.held[0].x + node.held[-1].x) / 2
        node.height = 1 + max(each.height for each in node.held)
    for each in node.held:
        ends = [node.height - 0.3, each.height + 0.3]  # clear of the labels
        ax.plot([node.x, each.x], ends, color=PAPER_COLOUR, linewidth=1, zorder=1)
    color = OURS_COLOUR if node.held else PAPER_COLOUR
    place = {"ha": "center", "va": "center", "fontsize": 9}
    ax.text(node.x, node.height, node.label, place, color=color)
