"""What every chart shares: colours, the ground, and frames of matplotlib's axes."""

from collections.abc import Sized

from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb

from transformer.support.errors import UserError

# Colour-blind readers tell these apart (Okabe and Ito 2008).
SOURCE = "#0072B2"
TARGET = "#D55E00"
CROSS = "#CC79A7"
PAPER = "#666666"
OURS = "#009E73"
DARK = "#222222"  # of lines and letters of our drawings
INK, LINES, GRID = "#1a1a1a", "#888888", "#dddddd"

# What a chart says of its own ground and text. JupyterLab's dark theme would otherwise draw white
# labels and a dark ground, on which black marks vanish.
ON_WHITE = {
    "background": "#ffffff",
    "title": {"color": INK, "subtitleColor": INK},
    "style": {"guide-label": {"fill": INK}, "guide-title": {"fill": INK}},
    "axis": {"domainColor": LINES, "gridColor": GRID, "tickColor": LINES},
}


def frame(ax: Axes, title: str, xlabel: str = "", ylabel: str = "", size: float = 10) -> Axes:
    """Finish axes: a title (of so many points), names with units, no lines above and right."""
    if xlabel:
        ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_title(title, fontsize=size)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def mix(colour: str, share: float) -> str:
    """Mix a colour with white (share below 1), or with black (share above 1, up to 2)."""
    red, green, blue = to_rgb(colour)
    if share > 1:
        return to_hex((red * (2 - share), green * (2 - share), blue * (2 - share)))
    return to_hex((1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue)))


def check_count(what: str, drawn: Sized, most: int) -> None:
    """Refuse, with a UserError, more of something than can be told apart."""
    if len(drawn) > most:
        raise UserError(f"{len(drawn)} {what}, and there are {most} colours: give fewer")
