"""How large a gradient arrives in each layer of a stack, from its lowest to its highest (§3.1)."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from lessonkit.charts.style import OURS, TARGET
from transformer.support.errors import UserError

COLOURS = (OURS, TARGET)


def draw_gradients(
    norms: Mapping[str, Sequence[float]], ax: Axes, title: str = "", of: str = "layer"
) -> Axes:
    """Draw the norm of each layer's gradient on a logarithmic axis, a line for each stack.

    Not in the paper.

    Args:
        norms: The norms of each stack by its name, the lowest layer's first; two stacks at most.
        ax: Where to draw.
        title: Above the picture.
        of: What is stacked.

    Raises:
        UserError: there are more than two stacks.
    """
    if len(norms) > len(COLOURS):
        raise UserError(f"{len(norms)} stacks, and there are {len(COLOURS)} colours: give fewer")
    for (name, each), colour in zip(norms.items(), COLOURS, strict=False):
        ax.semilogy(range(1, len(each) + 1), each, "o-", color=colour, label=name, markersize=4)
    ax.set_xlabel(f"{of} (1 is the lowest)")
    ax.set_ylabel("gradient (norm)")
    ax.set_title(title, fontsize=10)
    ax.legend(frameon=False, fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
