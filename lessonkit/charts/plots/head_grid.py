"""One number for each head of a stack, as a table whose cells are as bright as they are high."""

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from lessonkit.charts.style import TARGET


def draw_head_grid(
    values: Tensor,
    ax: Axes,
    title: str,
    highest: float,
    decimals: int = 1,
    framed: Tensor | None = None,
) -> Axes:
    """Draw a figure of every head: a row for each layer, a column for each head.

    Args:
        values: (num_layers, num_heads); below 0 is as dark as 0.
        ax: Where to draw.
        title: Above the table, with the unit.
        highest: The value of the brightest color, the same for pictures to be compared.
        decimals: Of the numbers in the cells.
        framed: (num_layers, num_heads), True where a cell gets a frame.
    """
    table = values.detach().float().cpu().numpy()
    ax.imshow(table, cmap="viridis", vmin=0, vmax=highest)
    for layer, row in enumerate(table):
        for head, value in enumerate(row):
            color = "black" if value > highest / 2 else "white"
            text = f"{value:z.{decimals}f}"  # z: no -0.0
            ax.text(head, layer, text, ha="center", va="center", color=color, fontsize=9)
    for layer, head in [] if framed is None else framed.nonzero().tolist():
        corner = (head - 0.44, layer - 0.44)
        ax.add_patch(Rectangle(corner, 0.88, 0.88, fill=False, color=TARGET, linewidth=2))
    num_layers, num_heads = table.shape
    ax.set_xticks(range(num_heads), [str(head + 1) for head in range(num_heads)])
    ax.set_yticks(range(num_layers), [str(layer + 1) for layer in range(num_layers)])
    ax.tick_params(length=0)
    ax.set(xlabel="head", ylabel="layer")
    ax.set_title(title, fontsize=10)
    return ax
