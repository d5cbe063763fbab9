"""The picture of an exercise in README: what a learner sees from the gap to a right answer.

Not in the paper. Everything in it is what the exercise itself says of the answers below.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from lessonkit.exercises.judge_cell import find_exercise, judge_cell

MODULE, NAME = "training", "warmup_rate"
MISTAKEN_LINE = "    return d_model**-0.5 * rising"
RIGHT_LINES = "    falling = step**-0.5\n    return d_model**-0.5 * min(rising, falling)"

# Sizes in points (1/72 inch), for a page that shows the picture as wide as its text.
FONT_SIZE, LINE_HEIGHT, MARGIN = 9.0, 10.6, 12.0
WIDTH = 450.0  # 80 characters
DOTS_PER_INCH = 150
CARD_COLOUR, CELL_COLOUR, INK, MUTED_INK = "#f7f7f4", "#e9ecef", "#1b1b1b", "#4d4d4d"
STATUS_COLOURS = {"": "#0072B2", "wrong": "#B54B00", "passed": "#00704F"}


class Step(NamedTuple):
    """One step: a title, what stands in a cell and what is printed below it."""

    title: str
    cell: str
    printed: str
    status: str = ""


def exercise_steps() -> list[Step]:
    """Return the steps from the gap to a right answer, in the exercise's own words."""
    exercise = find_exercise(MODULE, NAME)
    head = "\n".join(exercise.blank_source.splitlines()[:2])
    steps = [
        Step("A lesson leaves a gap", exercise.blank_source, ""),
        *(
            Step(title, cell, verdict.text, verdict.status)
            for title, cell in (
                ("The check shows the smallest case that fails", f"{head}\n{MISTAKEN_LINE}"),
                ("A right answer passes, and the lesson goes on with it", f"{head}\n{RIGHT_LINES}"),
            )
            for verdict in [judge_cell(MODULE, NAME, cell)]
        ),
    ]
    hint = Step("Hints, from gentle to plain", f"{exercise.handle}.hint()", "")
    steps.insert(2, hint._replace(printed=exercise.hint_message(1).text))
    return steps


def describe_steps(steps: list[Step]) -> str:
    """Return the text of the picture."""
    return "\n".join(part for step in steps for part in (step.title, step.cell, step.printed))


def draw_exercise(file: Path) -> None:
    """Draw the steps below each other on a pale card, which dark pages show too."""
    steps = exercise_steps()
    rows = list(_rows(steps))
    height = sum(row_height for row_height, *_ in rows) + 2 * MARGIN
    figure = Figure(figsize=((WIDTH + 2 * MARGIN) / 72, height / 72), dpi=DOTS_PER_INCH)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH + 2 * MARGIN), ylim=(height, 0))
    axes.axis("off")
    round_corners = "round,pad=0,rounding_size=8"
    card = (0, 0), WIDTH + 2 * MARGIN, height
    axes.add_patch(FancyBboxPatch(*card, boxstyle=round_corners, facecolor=CARD_COLOUR, lw=0))
    top = MARGIN
    for row_height, kind, text, colour in rows:
        if kind == "cell":
            box = (MARGIN, top), WIDTH, row_height
            axes.add_patch(
                FancyBboxPatch(*box, boxstyle="square,pad=0", facecolor=CELL_COLOUR, lw=0)
            )
            axes.plot([MARGIN] * 2, [top, top + row_height], color=colour, lw=2.5)
        is_title = kind == "title"
        axes.text(
            MARGIN + (0 if is_title else 8),
            top + (row_height - 5 if is_title else 5),
            text,
            fontsize=FONT_SIZE + is_title,
            family="DejaVu Sans" if is_title else "DejaVu Sans Mono",
            weight="bold" if is_title else "normal",
            color=colour if is_title else INK if kind == "cell" else MUTED_INK,
            va="baseline" if is_title else "top",
            linespacing=LINE_HEIGHT / FONT_SIZE,
        )
        top += row_height
    with mpl.rc_context({"savefig.transparent": True}):
        figure.savefig(file, metadata={"Description": describe_steps(steps)})


def _rows(steps: list[Step]) -> Iterator[tuple[float, str, str, str]]:
    """Yield the height, kind, text and colour of each row of the picture."""
    for number, step in enumerate(steps, start=1):
        colour = STATUS_COLOURS[step.status]
        yield 22.0, "title", f"{number}  {step.title}", colour
        for kind, text in (("cell", step.cell), ("printed", step.printed)):
            if text:
                yield LINE_HEIGHT * len(text.splitlines()) + 10, kind, text, colour
