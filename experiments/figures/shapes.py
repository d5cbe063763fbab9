"""What a drawn diagram is made of: boxes, arrows and words on a sheet measured in points.

A point is 1/72 inch, as in font sizes, so a text of 10 points is ten units high.
"""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path

from lessonkit.charts.style import DARK as INK
from lessonkit.charts.style import OURS, PAPER, mix

Point = tuple[float, float]

TEXT, SMALL = 10, 8.5  # font sizes, points
LINE = 1.35  # from line to line, in font sizes
MONO = "DejaVu Sans Mono"  # comes with matplotlib, as the other font does
CORNER = 5.0  # radius of an arrow's corners
HEAD = 9.0  # size of an arrow's head


class Box(NamedTuple):
    """Where a box stands: its centre and its size, in points; and the middles of its edges."""

    x: float
    y: float
    width: float
    height: float

    @property
    def top(self) -> Point:
        """Of the upper edge."""
        return self.x, self.y + self.height / 2

    @property
    def bottom(self) -> Point:
        """Of the lower edge."""
        return self.x, self.y - self.height / 2

    @property
    def left(self) -> Point:
        """Of the left edge."""
        return self.x - self.width / 2, self.y

    @property
    def right(self) -> Point:
        """Of the right edge."""
        return self.x + self.width / 2, self.y


def sheet(ax: Axes, size: Point) -> Axes:
    """Make empty axes without lines, (0, 0) at the lower left; size is in points."""
    ax.set(xlim=(0, size[0]), ylim=(0, size[1]), aspect="equal")
    ax.set_axis_off()
    return ax


def draw_box(
    ax: Axes, box: Box, colour: str, text: str = "", under: str = "", code: str = ""
) -> Box:
    """Draw a filled box with a title in it, and under the title what it does or our name for it."""
    _round(ax, (box.left[0], box.bottom[1]), box[2:], 4, mix(colour, 0.22), colour, 1.3, 3)
    rise = 6.5 if under or code else 0.0
    words(ax, (box.x, box.y + rise), text, size=TEXT, weight="bold" if rise else "normal")
    words(ax, (box.x, box.y - rise), under)
    name(ax, (box.x, box.y - rise), code, ha="center")
    return box


def draw_pile(ax: Axes, box: Box, colour: str, text: str, under: str = "", code: str = "") -> Box:
    """Draw a box with two more behind it: the same thing several times, side by side."""
    for shift in (8, 4):
        draw_box(ax, box._replace(x=box.x + shift, y=box.y + shift), colour)
    return draw_box(ax, box, colour, text, under, code)


def draw_frame(ax: Axes, lower_left: Point, upper_right: Point, colour: str) -> None:
    """Draw a pale field behind the boxes that belong together."""
    size = (upper_right[0] - lower_left[0], upper_right[1] - lower_left[1])
    _round(ax, lower_left, size, 8, mix(colour, 0.07), mix(colour, 0.6), 1, 1)


def _round(
    ax: Axes, corner: Point, size: Point, radius: float, face: str, edge: str, *depth: float
) -> None:
    """Draw a rectangle with round corners, its line so wide and so far in front."""
    style = f"round,pad=0,rounding_size={radius}"
    look = dict(zip(("linewidth", "zorder"), depth, strict=True))
    ax.add_patch(
        FancyBboxPatch(corner, *size, boxstyle=style, facecolor=face, edgecolor=edge, **look)
    )


def draw_circle(ax: Axes, centre: Point, radius: float, *lines: tuple[object, object]) -> Box:
    """Draw lines in a circle: a plus, where two inputs are added, or a wave."""
    ax.add_patch(Circle(centre, radius, facecolor="white", edgecolor=INK, linewidth=1.2, zorder=3))
    for x, y in lines:
        ax.plot(x, y, color=INK, linewidth=1.2, zorder=4)  # type: ignore[arg-type]
    return Box(*centre, 2 * radius, 2 * radius)


def arrow(ax: Axes, *points: Point, colour: str = INK) -> None:
    """Draw an arrow from the first point over corners, which are round, to the last."""
    patch = FancyArrowPatch(
        path=_round_path(points),
        arrowstyle="-|>",
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
