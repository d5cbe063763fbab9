"""What every chart shares: colours, the ground, and frames of matplotlib's axes."""

from collections.abc import Sized
from typing import Any

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

# Charts have no ground of their own, and are read on a page's, white or dark. So their letters
# and lines are of a grey that stands out from both: 4.5 to 1 from white, 4.2 from #111111.
INK, GRID = "#767676", "#88888844"
TEXTS = {name: {"fill": INK} for name in ("guide-label", "guide-title")}
CHARTS = {  # Vega-Lite's configuration
    "background": "transparent",
    "title": {"color": INK, "subtitleColor": INK},
    "style": TEXTS,
    "axis": {"domainColor": INK, "gridColor": GRID, "tickColor": INK},
    "view": {"stroke": None},
    "text": {"color": INK},
}
GROUNDS = ("axes.facecolor", "legend.facecolor")
LETTERS = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
FIGURES: dict[Any, str] = dict.fromkeys(GROUNDS, "none") | dict.fromkeys(LETTERS, INK)


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
