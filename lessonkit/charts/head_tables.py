"""Tables of a figure for every attention head: what its ablation costs, where it looks.

Not in the paper.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from torch import Tensor

from lessonkit.analysis.heads import STACK_NAMES
from lessonkit.analysis.roles import RoleAttentionByHead
from lessonkit.charts.style import INK_COLOUR, TARGET_COLOUR
from lessonkit.records import reading_record
from transformer.support.checks import check_float_tensor, check_has_items
from transformer.support.errors import UserError, describe_value, require
from transformer.support.signatures import check_argument_types

WAYS = ("zero", "mean")  # what stands in a head's place
MAX_FRAMED_P_VALUE = 0.01  # a cell is framed if its p-value (`compare_bleu`) is below


@check_argument_types
def draw_head_grid(
    values: Tensor,
    ax: Axes,
    title: str,
    highest: float,
    framed: Tensor,
) -> Axes:
    """Draw a figure of every head, (num_layers, num_heads), with a frame around some.

    Pictures to be compared have the same `highest`, of the brightest color; below 0 is as dark as
    0.
    """
    check_float_tensor("values", values, (None, None))
    if framed.shape != values.shape:
        raise UserError(f"framed is {describe_value(framed)}: give one of {tuple(values.shape)}")
    _draw_number_cells(values, ax, highest, "z.1f", 9)  # z: no -0.0
    for layer, head in framed.nonzero().tolist():
        corner = (head - 0.44, layer - 0.44)
        ax.add_patch(Rectangle(corner, 0.88, 0.88, fill=False, color=TARGET_COLOUR, linewidth=2))
    num_layers, num_heads = values.shape
    ax.set_xticks(range(num_heads), [str(head + 1) for head in range(num_heads)])
    ax.set_yticks(range(num_layers), [str(layer + 1) for layer in range(num_layers)])
    ax.set(xlabel="head", ylabel="layer")
    ax.set_title(title, fontsize=10, parse_math=False)
    return ax


@check_argument_types
def draw_head_ablations(record: Mapping[str, Any], axes: "NDArray[Any]", highest: float) -> None:
    """Draw the BLEU (beam 4) that each head's ablation costs; a frame where p < 0.01.

    The record is that of `python -m experiments heads`; the axes are 2 rows, for zero and for the
    mean, of 3 stacks.
    """
    shape = (len(WAYS), len(STACK_NAMES))
    are_axes = axes.shape == shape and all(isinstance(ax, Axes) for ax in axes.flat)
    require(
        are_axes, f"axes are {describe_value(axes)}: give axes in {shape[0]} rows of {shape[1]}"
    )
    for row, way in enumerate(WAYS):
        for ax, stack in zip(axes[row], STACK_NAMES, strict=True):
            costs, framed = _head_costs(record, way, stack)
            draw_head_grid(costs, ax, f"{stack}, by {way}", highest, framed)


def _head_costs(record: Mapping[str, Any], way: str, stack: str) -> tuple[Tensor, Tensor]:
    """Return what each head of a stack costs in points of BLEU, and whether it is framed.

    Both are (num_layers, num_heads).
    """
    with reading_record("record"):
        figures = record["figures"]
        whole_bleu = figures["whole"]["beam"]
        heads = {name: head for name, head in figures[way]["heads"].items() if stack in name}
        last_name = next(reversed(heads))  # "encoder 2.4"
        num_layers = int(last_name.split()[1].split(".")[0])
        costs = [float(whole_bleu - head["beam"]) for head in heads.values()]
        framed = [bool(head["p"] < MAX_FRAMED_P_VALUE) for head in heads.values()]
        shape = (num_layers, len(heads) // num_layers)
        return torch.tensor(costs).reshape(shape), torch.tensor(framed).reshape(shape)


@check_argument_types
def draw_head_role_shares(answers: Sequence[RoleAttentionByHead], ax: Axes, title: str) -> Axes:
    """Draw the share of its weight that each head puts where a question says.

    A row for each question of one stack; the first column is what an even spread would put there.
    """
    check_has_items("answers", answers)
    num_layers, num_heads = answers[0].shares.shape
    rows = [torch.cat((torch.tensor([row.even]), row.shares.flatten())) for row in answers]
    _draw_number_cells(torch.stack(rows), ax, 1, ".2f", 8, aspect="auto")
    # A line stands before each layer's heads.
    for layer in range(num_layers):
        ax.axvline(layer * num_heads + 0.5, color=INK_COLOUR, linewidth=3)
    names = ["even"]
    for layer in range(num_layers):
        names += [f"{layer + 1}.{head + 1}" for head in range(num_heads)]
    ax.set_xticks(range(len(names)), names, fontsize=8)
    labels = [f"{answer.question} ({answer.cases})" for answer in answers]
    ax.set_yticks(range(len(answers)), labels, fontsize=8, parse_math=False)
    ax.set_xlabel("an even spread, and each head (layer.head)", fontsize=8)
    ax.set_title(title, fontsize=10, parse_math=False)
    return ax


def _draw_number_cells(
    values: Tensor, ax: Axes, highest: float, form: str, points: float, **look: Any
) -> None:
    """Draw a matrix as cells as bright as they are high, each with its number."""
    table = values.detach().float().cpu().numpy()
    ax.imshow(table, cmap="viridis", vmin=0, vmax=highest, **look)
    for (row, column), value in np.ndenumerate(table):
        color = "black" if value > highest / 2 else "white"
        text = f"{value:{form}}"
        ax.text(column, row, text, ha="center", va="center", color=color, fontsize=points)
    ax.tick_params(length=0)
