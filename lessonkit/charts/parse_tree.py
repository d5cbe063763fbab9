"""A sentence's tree of phrases, as constituency parsing knows it (§6.3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes

from lessonkit.charts.labels import (
    LINE_HEIGHT_PER_FONT_SIZE,
    axes_points,
    how_many_labelled_text,
    places_of_labels_that_fit,
    shorten_label,
)
from lessonkit.charts.style import OURS_COLOUR, PAPER_COLOUR, SOURCE_COLOUR
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

FONT_POINTS = 9
# Between levels: room that a line leaves to a label, from the leaves to the words below them, and
# from there to the end of the axes.
LABEL_GAP, WORD_GAP, WORD_HEIGHT = 0.3, 0.75, 0.65


@dataclass
class _TreeNode:
    """A phrase, or a word with its part of speech (which holds nothing)."""

    label: str
    held: list["_TreeNode"] = field(default_factory=list)
    x: float = 0.0
    height: int = 0
    labelled: bool = False


@check_argument_types
def draw_parse_tree(tree: str, words: Sequence[str], ax: Axes, title: str = "") -> Axes:
    """Draw a tree: the words below, each phrase above what it holds (§6.3).

    "(S (NP DT NN )NP (VP VB )VP . )S" has a word for each part of speech (see
    `transformer.evaluation.scores`); what is no such tree is a UserError. Labels and words that
    have no room are left out, which the title says.
    """
    nodes = _parse_tree(tree)
    leaves = [node for node in nodes if not node.held]
    root = nodes[-1]
    if len(leaves) != len(words):
        raise UserError(
            f"the tree has {len(leaves)} parts of speech and the sentence {len(words)} words: "
            "they must be as many"
        )
    width, height = axes_points(ax)
    word_points, level_points = width / (len(words) + 0.4), height / (root.height + 1.9)
    _mark_labels_that_fit(nodes, word_points, level_points)
    for node in nodes:
        _draw_node(node, ax)

    # In a tall tree a word's line is higher than a level.
    line = FONT_POINTS * LINE_HEIGHT_PER_FONT_SIZE / level_points
    below = max(WORD_GAP, line)
    labels = [shorten_label(word) for word in words]
    centres = [leaf.x * word_points for leaf in leaves]
    shown = places_of_labels_that_fit(centres, labels, FONT_POINTS)
    place_word = {"ha": "center", "va": "top", "color": SOURCE_COLOUR, "fontsize": FONT_POINTS}
    for place in shown:
        ax.text(leaves[place].x, -below, labels[place], place_word, parse_math=False)
    ax.set_xlim(-0.7, len(words) - 0.3)
    ax.set_ylim(-below - max(WORD_HEIGHT, line), root.height + 0.5)
    ax.set_axis_off()
    num_labelled = len(shown) + sum(node.labelled for node in nodes)
    left_out = how_many_labelled_text(num_labelled, len(words) + len(nodes), "words and phrases")
    ax.set_title((title + left_out).strip(), fontsize=10, parse_math=False)
    return ax


def _parse_tree(tree: str) -> list[_TreeNode]:
    """Return every node in its place, each after what it holds: the root is the last."""
    top = _TreeNode("")
    opened, nodes, num_leaves = [top], list[_TreeNode](), 0
    for token in tree.split():
        if token.startswith("("):
            opened.append(_TreeNode(token[1:]))
            opened[-2].held.append(opened[-1])
        elif not token.startswith(")"):
            nodes.append(_TreeNode(token, x=num_leaves))
            opened[-1].held.append(nodes[-1])
            num_leaves += 1
        elif len(opened) > 1 and opened[-1].label == token[1:] and opened[-1].held:
            nodes.append(_place_above_children(opened.pop()))
        else:
            raise UserError(
                f"no tree: {token!r} closes no open phrase; see transformer.evaluation.scores"
            )
    if len(opened) > 1 or len(top.held) != 1:
        raise UserError("no tree: it needs one phrase that holds all and is closed")
    return nodes


def _place_above_children(node: _TreeNode) -> _TreeNode:
    """Place a phrase in the middle above what it holds."""
    node.x = (node.held[0].x + node.held[-1].x) / 2
    node.height = 1 + max(each.height for each in node.held)
    return node


def _mark_labels_that_fit(nodes: list[_TreeNode], word_points: float, level_points: float) -> None:
    """Mark the nodes whose labels overlap no other; words and levels are so many points apart."""
    every = math.ceil(FONT_POINTS * LINE_HEIGHT_PER_FONT_SIZE / level_points)
    heights = {node.height for node in nodes}
    # The root has its label, and from there down every so many levels.
    for height in range(max(heights), -1, -every):
        level = sorted((node for node in nodes if node.height == height), key=lambda node: node.x)
        centres = [node.x * word_points for node in level]
        labels = [node.label for node in level]
        for place in places_of_labels_that_fit(centres, labels, FONT_POINTS):
            level[place].labelled = True


def _draw_node(node: _TreeNode, ax: Axes) -> None:
    """Draw the label of a node, and a line to each that it holds, clear of the labels."""
    for each in node.held:
        ends = [
            node.height - LABEL_GAP * node.labelled,
            each.height + LABEL_GAP * each.labelled,
        ]
        ax.plot([node.x, each.x], ends, color=PAPER_COLOUR, linewidth=1, zorder=1)
    if node.labelled:
        color = OURS_COLOUR if node.held else PAPER_COLOUR
        place = {"ha": "center", "va": "center", "fontsize": FONT_POINTS}
        ax.text(node.x, node.height, node.label, place, color=color, parse_math=False)
