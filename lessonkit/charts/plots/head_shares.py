"""Questions about heads and their answers, as a table: a row for each question, a column a head."""

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes

from lessonkit.analysis.roles import Answer


def draw_head_shares(answers: Sequence[Answer], ax: Axes, title: str) -> Axes:
    """Draw the share of its weight that each head puts where a question says.

    Not in the paper. The first column is what an even spread would put there.

    Args:
        answers: Of one stack, with the same heads.
        ax: Where to draw.
        title: Above the table.
    """
    layers, heads = answers[0].shares.shape
    table = torch.stack([torch.cat((torch.tensor([a.even]), a.shares.flatten())) for a in answers])
    ax.imshow(table.numpy(), cmap="viridis", vmin=0, vmax=1, aspect="auto")
    for row, values in enumerate(table.tolist()):
        for column, value in enumerate(values):
            color = "black" if value > 0.5 else "white"
            text = f"{value:.2f}"
            ax.text(column, row, text, ha="center", va="center", color=color, fontsize=8)
    for layer in range(layers):  # a line before each layer's heads
        ax.axvline(layer * heads + 0.5, color="white", linewidth=3)
    names = [f"{layer + 1}.{head + 1}" for layer in range(layers) for head in range(heads)]
    ax.set_xticks(range(len(names) + 1), ["even", *names], fontsize=8)
    labels = [f"{answer.question} ({answer.cases})" for answer in answers]
    ax.set_yticks(range(len(answers)), labels, fontsize=8)
    ax.tick_params(length=0)
    ax.set_xlabel("an even spread, and each head (layer.head)", fontsize=8)
    ax.set_title(title, fontsize=10)
    return ax
