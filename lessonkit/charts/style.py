"""What every chart shares: colours, the ground, and frames of matplotlib's axes."""

from collections.abc import Sized
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb

from transformer.support.errors import UserError

# Colour-blind readers tell these apart (Okabe and Ito 2008).
SOURCE_COLOUR = "#0072B2"
TARGET_COLOUR = "#D55E00"
FOURTH_LINE_COLOUR = "#CC79A7"
PAPER_COLOUR = "#666666"
OURS_COLOUR = "#009E73"
DARK_COLOUR = "#222222"  # of lines and letters of our drawings

# Charts have no ground of their own, and are read on a page's, white or dark. So their letters
# and lines are of a grey that stands out from both: 4.5 to 1 from white, 4.2 from #111111.
# No grey has 4.5 to 1 from both: the two contrasts multiply to 18.9, the square of 4.35.
INK_COLOUR, GRID_COLOUR = "#767676", "#88888844"
VEGA_TEXT_STYLES = {name: {"fill": INK_COLOUR} for name in ("guide-label", "guide-title")}
VEGALITE_CONFIG = {  # Vega-Lite's configuration
    "background": "transparent",
    "title": {"color": INK_COLOUR, "subtitleColor": INK_COLOUR},
    "style": VEGA_TEXT_STYLES,
    "axis": {"domainColor": INK_COLOUR, "gridColor": GRID_COLOUR, "tickColor": INK_COLOUR},
    "view": {"stroke": None},
    "text": {"color": INK_COLOUR},
}
BACKGROUND_RC_KEYS = ("axes.facecolor", "legend.facecolor")
INK_RC_KEYS = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
MATPLOTLIB_RC_PARAMS: dict[Any, str] = dict.fromkeys(BACKGROUND_RC_KEYS, "none") | dict.fromkeys(
    INK_RC_KEYS, INK_COLOUR
)


def finish_axes(ax: Axes, title: str, xlabel: str = "", ylabel: str = "", size: float = 10) -> Axes:
    """Finish axes: a title (of so many points), names with units, no lines above and right.

    A dollar in a text is a dollar, not the beginning of a formula.
    """
    if xlabel:
        ax.set_xlabel(xlabel, parse_math=False)
        ax.set_ylabel(ylabel, parse_math=False)
    ax.set_title(title, fontsize=size, parse_math=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def lighten_or_darken_colour(colour: str, share: float) -> str:
    """Mix a colour with white (share below 1), or with black (share above 1, up to 2)."""
    red, green, blue = to_rgb(colour)
    if share > 1:
        return to_hex((red * (2 - share), green * (2 - share), blue * (2 - share)))
    return to_hex((1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue)))


def add_legend(ax: Axes, **look: Any) -> None:
    """Add a legend whose texts are drawn letter by letter, dollars too."""
    for text in ax.legend(**look).get_texts():
        text.set_parse_math(False)


def check_enough_colours(what: str, drawn: Sized, most: int) -> None:
    """Refuse, with a UserError, more of something than can be told apart."""
    if len(drawn) > most:
        raise UserError(f"{len(drawn)} {what}, and there are {most} colours: give fewer")
