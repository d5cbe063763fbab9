"""Batches: their tokens in a grid, and as areas what is token and what is padding (§5.1)."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import altair as alt
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like
from matplotlib.patches import Rectangle

from lessonkit.charts.controls import colour_scale, make_drop_down, make_live_title, make_slider
from lessonkit.charts.labels import (
    LETTER_WIDTH_PER_FONT_SIZE,
    LINE_HEIGHT_PER_FONT_SIZE,
    axes_points,
    shorten_label,
)
from lessonkit.charts.style import DARK_COLOUR, OURS_COLOUR, PAPER_COLOUR, lighten_or_darken_colour
from transformer.config import MAX_DIMENSION, PAD_ID, SPECIAL_TOKENS
from transformer.support.checks import check_has_items, check_sizes
from transformer.support.errors import UserError, require, short_repr
from transformer.support.signatures import check_argument_types

# Lighter than OURS_COLOUR by far, so that the two are told apart without colour.
PADDING_COLOUR = "#BBBBBB"
FONT_POINTS, ROW_LABEL_POINTS = 9, 8.5  # of a token, and of a sentence's number
MIN_CELL_LETTERS = 3  # in a cell that holds a token
MAX_SENTENCES_PER_CHART = 5000  # sentences in all batches together: about 40 kB
SentenceLengths = Sequence[int]  # the length of each sentence, in tokens


class TokenGrid(NamedTuple):
    """One tensor of a batch as tokens, a row for each sentence, with its title and colour."""

    title: str
    rows: list[list[str]]
    colour: str


@check_argument_types
def draw_token_grid(grid: TokenGrid, ax: Axes) -> Axes:
    """Draw one tensor of a batch as a grid of tokens; padding is dark and marks are grey (§5.1).

    A token is shortened to its cell; where cells have no room for letters, their colours are left.
    """
    is_known = is_color_like(grid.colour)
    require(is_known, f"colour is {short_repr(grid.colour)}: give one of matplotlib's, as #009E73")
    check_has_items("rows", grid.rows)
    check_has_items("a row", grid.rows[0])
    count, length = len(grid.rows), len(grid.rows[0])
    require({length} == set(map(len, grid.rows)), "rows of unequal lengths: pad them first")
    width, height = axes_points(ax)
    cell_letters = int(width / length / (FONT_POINTS * LETTER_WIDTH_PER_FONT_SIZE))
    has_room = cell_letters >= MIN_CELL_LETTERS and height / count >= FONT_POINTS
    for y, row in enumerate(grid.rows):
        for x, token in enumerate(row):
            face = (
                lighten_or_darken_colour(PAPER_COLOUR, 0.3)
                if token in SPECIAL_TOKENS
                else lighten_or_darken_colour(grid.colour, 0.25)
            )
            ink = DARK_COLOUR
            if token == SPECIAL_TOKENS[PAD_ID]:
                face, ink = lighten_or_darken_colour(DARK_COLOUR, 0.85), "white"
            ax.add_patch(Rectangle((x + 0.01, y + 0.03), 0.98, 0.94, facecolor=face))
            if has_room:
                label = shorten_label(token, cell_letters)
                place = {"ha": "center", "va": "center", "fontsize": FONT_POINTS}
                ax.text(x + 0.5, y + 0.53, label, place, color=ink, parse_math=False)
    ax.set(xlim=(0, length), ylim=(count, 0), xticks=[])
    rows = range(0, count, math.ceil(count * ROW_LABEL_POINTS * LINE_HEIGHT_PER_FONT_SIZE / height))
    ax.set_yticks([y + 0.5 for y in rows], [f"sentence {y + 1}" for y in rows])
    ax.tick_params(length=0, labelsize=ROW_LABEL_POINTS)
    ax.spines[:].set_visible(False)
    ax.set_title(grid.title, fontsize=10, loc="left", weight="bold", pad=5, parse_math=False)
    return ax


@check_argument_types
def batch_explorer(batches: Mapping[str, Sequence[SentenceLengths]]) -> alt.Chart:
    """Draw one batch at a time: a row for each sentence, filled up to the longest (§5.1).

    Two controls choose the rule and the batch, of as many for every rule. The axes stay, so that
    areas can be compared. More sentences than a stored chart should hold are a UserError.
    """
    _check_batches(batches)
    all_batches = [batch for rule_batches in batches.values() for batch in rule_batches]
    num_sentences = sum(map(len, all_batches))
    if num_sentences > MAX_SENTENCES_PER_CHART:
        raise UserError(
            f"{num_sentences:,} sentences, and a chart holds "
            f"{MAX_SENTENCES_PER_CHART:,}: give fewer batches"
        )
    rules = list(batches)
    number = len(batches[rules[0]])
    controls = [make_drop_down("rule", rules[0], rules), make_slider("batch", 1, 1, number)]
    titles: dict[str, list[str]] = {}
    rows: list[dict[str, object]] = []
    for rule, rule_batches in batches.items():
        titles[rule] = [_batch_title(batch) for batch in rule_batches]
        for place, batch in enumerate(rule_batches, start=1):
            lengths = ",".join(map(str, batch))
            rows.append({"of_rule": rule, "number": place, "lengths": lengths})
    shares = ", ".join(f"{rule} {_padding_share(planned):.0%}" for rule, planned in batches.items())
    return (
        _draw_sentence_bars(
            rows, longest=max(map(max, all_batches)), most=max(map(len, all_batches))
        )
        .add_params(alt.param(name="titles", value=titles), *controls)
        .properties(
            name="batches",
            width=460,
            height=280,
            title=make_live_title(
                f"rule + ', batch ' + batch + ' of {number}: ' + titles[rule][batch - 1]"
            ),
            description="Bar chart of one batch: each row is a sentence, its tokens in green and "
            f"in grey the padding up to the longest. Shown: {rules[0]}, batch 1, "
            f"{titles[rules[0]][0]}. Padding of the {number} batches to choose from, by rule: "
            f"{shares}. Controls change rule and batch.",
        )
    )


def _check_batches(batches: Mapping[str, Sequence[SentenceLengths]]) -> None:
    """Raise a UserError unless every rule has as many batches, one or more, of some sentences."""
    check_has_items("batches", batches)
    numbers = {len(rule_batches) for rule_batches in batches.values()}
    require(len(numbers) == 1, f"the rules have {numbers} batches: give as many by each")
    for rule, rule_batches in batches.items():
        check_has_items(f"the batches of {short_repr(rule)}", rule_batches)
        for batch in rule_batches:
            check_has_items("a batch", batch)
            check_sizes(MAX_DIMENSION, longest_sentence=max(batch), shortest_sentence=min(batch))


def _padding_share(batches: Sequence[SentenceLengths]) -> float:
    """Return the share of all positions that is padding, 0 to 1."""
    return 1 - sum(map(sum, batches)) / sum(len(batch) * max(batch) for batch in batches)


def _batch_title(batch: SentenceLengths) -> str:
    size = f"{len(batch)} x {max(batch)} = {len(batch) * max(batch):,} positions"
    return f"{size}, {_padding_share([batch]):.0%} padding"


def _draw_sentence_bars(rows: list[dict[str, object]], longest: int, most: int) -> alt.Chart:
    """Unfold the chosen batch into two rectangles for each sentence, tokens and padding."""
    scale = colour_scale(["token", "padding"], [OURS_COLOUR, PADDING_COLOUR])
    across = alt.Scale(domain=[0, longest], nice=False)
    down = alt.Scale(domain=[most, 0], nice=False)
    return (
        alt.Chart(alt.Data(values=rows))
        .transform_filter("datum.of_rule == rule && datum.number == batch")
        .transform_calculate(tokens="split(datum.lengths, ',')")
        .transform_calculate(row="sequence(length(datum.tokens))")
        .transform_flatten(["tokens", "row"])
        .transform_calculate(tokens="toNumber(datum.tokens)", below="datum.row + 1")
        .transform_joinaggregate(longest="max(tokens)")
        .transform_calculate(part="['token', 'padding']")
        .transform_flatten(["part"])
        .transform_calculate(
            start="datum.part == 'token' ? 0 : datum.tokens",
            end="datum.part == 'token' ? datum.tokens : datum.longest",
        )
        .mark_rect(aria=False)
        .encode(
            x=alt.X("start:Q", title="position (tokens)", scale=across),
            x2="end:Q",
            y=alt.Y("row:Q", title="sentence of the batch", scale=down),
            y2="below:Q",
            color=alt.Color("part:N", scale=scale, legend=alt.Legend(title="position is")),
        )
    )
