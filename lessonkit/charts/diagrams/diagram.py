"""What a drawn diagram is made of: boxes, arrows and words on a sheet measured in points.

A point is 1/72 inch, as in font sizes, so a text of 10 points is ten units high.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path

from lessonkit.charts.style import OURS, PAPER

Point = tuple[float, float]

INK = "#222222"
TEXT, SMALL = 10, 8.5  # font sizes, points
LINE = 1.35  # from line to line, in font sizes
MONO = "DejaVu Sans Mono"  # comes with matplotlib, as the other font does
CORNER = 5.0  # radius of an arrow's corners
HEAD = 9.0  # size of an arrow's head


@dataclass(frozen=True)
class Box:
    """Where a box stands: its centre and its size, in points."""

    x: float
    y: float
    width: float
    height: float

    @property
    def top(self) -> Point:
        """The middle of the upper edge."""
        return self.x, self.y + self.height / 2

    @property
    def bottom(self) -> Point:
        """The middle of the lower edge."""
        return self.x, self.y - self.height / 2

    @property
    def left(self) -> Point:
        """The middle of the left edge."""
        return self.x - self.width / 2, self.y

    @property
    def right(self) -> Point:
        """The middle of the right edge."""
        return self.x + self.width / 2, self.y


def sheet(ax: Axes, size: Point) -> Axes:
    """Make empty axes without lines, (0, 0) at the lower left; size is in points."""
    ax.set(xlim=(0, size[0]), ylim=(0, size[1]), aspect="equal")
    ax.set_axis_off()
    return ax


def mix(colour: str, share: float) -> str:
    """Mix a colour with white (share below 1), or with black (share above 1, up to 2)."""
    red, green, blue = to_rgb(colour)
    if share > 1:
        return to_hex((red * (2 - share), green * (2 - share), blue * (2 - share)))
    return to_hex((1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue)))


def draw_box(
    ax: Axes, box: Box, colour: str, text: str = "", under: str = "", code: str = ""
) -> Box:
    """Draw a filled box with a title in it, and under the title what it does or our name for it."""
    patch = FancyBboxPatch(
        (box.x - box.width / 2, box.y - box.height / 2),
        box.width,
        box.height,
        boxstyle="round,pad=0,rounding_size=4",
        facecolor=mix(colour, 0.22),
        edgecolor=colour,
        linewidth=1.3,
        zorder=3,
    )
    ax.add_patch(patch)
    rise = 6.5 if under or code else 0.0
    words(ax, (box.x, box.y + rise), text, size=TEXT, weight="bold" if rise else "normal")
    words(ax, (box.x, box.y - rise), under)
    name(ax, (box.x, box.y - rise), code, ha="center")
    return box


def draw_pile(ax: Axes, box: Box, colour: str, text: str, under: str = "", code: str = "") -> Box:
    """Draw a box with two more behind it: the same thing several times, side by side."""
    for shift in (8, 4):
        behind = Box(box.x + shift, box.y + shift, box.width, box.height)
        draw_box(ax, behind, colour)
    return draw_box(ax, box, colour, text, under, code)


def draw_frame(ax: Axes, lower_left: Point, upper_right: Point, colour: str) -> None:
    """Draw a pale field behind the boxes that belong together."""
    width, height = (high - low for low, high in zip(lower_left, upper_right, strict=True))
    patch = FancyBboxPatch(
        lower_left,
        width,
        height,
        boxstyle="round,pad=0,rounding_size=8",
        facecolor=mix(colour, 0.07),
        edgecolor=mix(colour, 0.6),
        linewidth=1,
        zorder=1,
    )
    ax.add_patch(patch)


def draw_sum(ax: Axes, centre: Point, radius: float = 9) -> Box:
    """Draw a plus in a circle: two inputs are added."""
    ax.add_patch(Circle(centre, radius, facecolor="white", edgecolor=INK, linewidth=1.2, zorder=3))
    x, y = centre
    arm = radius * 0.55
    ax.plot([x - arm, x + arm], [y, y], color=INK, linewidth=1.2, zorder=4)
    ax.plot([x, x], [y - arm, y + arm], color=INK, linewidth=1.2, zorder=4)
    return Box(x, y, 2 * radius, 2 * radius)


def arrow(ax: Axes, *points: Point, colour: str = INK, style: str = "-|>") -> None:
    """Draw an arrow along points, with round corners.

    Args:
        ax: Where to draw.
        points: From the start over the corners to the end, at least two.
        colour: Of line and head.
        style: Of matplotlib's arrows: "-|>" has a head, "-" has none.
    """
    patch = FancyArrowPatch(
        path=_round_path(points),
        arrowstyle=style,
        mutation_scale=HEAD,
        color=colour,
        linewidth=1.3,
        joinstyle="miter",
        capstyle="butt",
        zorder=2.5,
    )
    ax.add_patch(patch)


def words(ax: Axes, place: Point, text: str, *, size: float = SMALL, **style: object) -> None:
    """Write lines of text around a place; `style` is matplotlib's (ha, color, weight ...)."""
    for row, line in enumerate(text.splitlines()):
        # From the base line, so that letters that reach below it do not lift the others.
        sunk = (0.36 + LINE * (row - text.count("\n") / 2)) * size
        look: dict[str, object] = {"ha": "center", "va": "baseline", "color": INK, "zorder": 5}
        ax.text(place[0], place[1] - sunk, line, fontsize=size, **(look | style))  # type: ignore[arg-type]


def name(ax: Axes, place: Point, code: str, under: str = "", ha: str = "left") -> None:
    """Write a name of the package, and under it where the paper has it."""
    x, y = place
    shift = 6 if under else 0
    words(ax, (x, y + shift), code, ha=ha, family=MONO, color=mix(OURS, 1.4))
    words(ax, (x, y - shift), under, ha=ha, color=PAPER)


def shape(ax: Axes, place: Point, text: str, ha: str = "left") -> None:
    """Write the shape of what an arrow carries."""
    words(ax, place, text, ha=ha, family=MONO, color=PAPER)


def _round_path(points: Sequence[Point]) -> Path:
    """Join points by straight lines, and cut each corner by a curve."""
    vertices, codes = [points[0]], [Path.MOVETO]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        vertices += [_towards(corner, before), corner, _towards(corner, after)]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    return Path([*vertices, points[-1]], [*codes, Path.LINETO])


def _towards(start: Point, end: Point) -> Point:
    """Go the corner's radius from one point towards another, half the way at most."""
    (x, y), (x_end, y_end) = start, end
    length = max(abs(x_end - x), abs(y_end - y))
    share = min(CORNER / length, 0.5)
    return x + share * (x_end - x), y + share * (y_end - y)
