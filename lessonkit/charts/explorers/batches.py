"""Batches as areas: what is token, what is padding, by the rule that cut them (§5.1)."""

from collections.abc import Mapping, Sequence

import altair as alt

from lessonkit.charts.controls import choice, slider
from lessonkit.charts.style import OURS
from transformer.support.errors import UserError

PADDING = "#BBBBBB"  # lighter than OURS by far, so that the two are told apart without colour
MAX_ROWS = 5000  # sentences in all batches together: about 40 kB
Batch = Sequence[int]  # the length of each sentence, in tokens


def batch_explorer(batches: Mapping[str, Sequence[Batch]]) -> alt.Chart:
    """Draw one batch at a time: a row for each sentence, filled up to the longest (§5.1).

    Two controls choose the rule and the batch. The axes stay, so that areas can be compared.

    Args:
        batches: For each rule some batches, as many for every rule; a batch is the list of
            its sentences' lengths in tokens.

    Raises:
        UserError: there are more sentences than a stored chart should hold.
    """
    sentences = sum(len(batch) for cut in batches.values() for batch in cut)
    if sentences > MAX_ROWS:
        raise UserError(
            f"{sentences:,} sentences, and a chart holds {MAX_ROWS:,}: give fewer batches"
        )
    rules = list(batches)
    number = len(batches[rules[0]])
    controls = [choice("rule", rules[0], rules), slider("batch", 1, 1, number)]
    titles = {rule: [_title(batch) for batch in cut] for rule, cut in batches.items()}
    heading = f"rule + ', batch ' + batch + ' of {number}: ' + titles[rule][batch - 1]"
    rows = [
        {"of_rule": rule, "number": place, "lengths": ",".join(map(str, batch))}
        for rule, cut in batches.items()
        for place, batch in enumerate(cut, start=1)
    ]
    every = [batch for cut in batches.values() for batch in cut]
    return (
        _bars(rows, longest=max(map(max, every)), most=max(map(len, every)))
        .add_params(alt.param(name="titles", value=titles), *controls)
        .properties(
            name="batches",
            width=460,
            height=280,
            title=alt.Title(text=alt.ExprRef(heading), anchor="start"),
            description=_description(batches),
        )
    )


def _padding(batches: Sequence[Batch]) -> float:
    return 1 - sum(map(sum, batches)) / sum(len(batch) * max(batch) for batch in batches)


def _title(batch: Batch) -> str:
    size = f"{len(batch)} x {max(batch)} = {len(batch) * max(batch):,} positions"
    return f"{size}, {_padding([batch]):.0%} padding"


def _description(batches: Mapping[str, Sequence[Batch]]) -> str:
    shares = ", ".join(f"{rule} {_padding(cut):.0%}" for rule, cut in batches.items())
    first = next(iter(batches))
    return (
        "Bar chart of one batch: each row is a sentence, its tokens in green and in grey the "
        f"padding up to the longest. Shown: {first}, batch 1, {_title(batches[first][0])}. "
        f"Padding of the {len(batches[first])} batches to choose from, by rule: {shares}. "
        "Controls change rule and batch."
    )


def _bars(rows: list[dict[str, object]], longest: int, most: int) -> alt.Chart:
    """Unfold the chosen batch into two rectangles for each sentence, tokens and padding."""
    colors = alt.Scale(domain=["token", "padding"], range=[OURS, PADDING])
    downwards = alt.Scale(domain=[most, 0], nice=False)
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
            x=alt.X(
                "start:Q",
                title="position (tokens)",
                scale=alt.Scale(domain=[0, longest], nice=False),
            ),
            x2="end:Q",
            y=alt.Y("row:Q", title="sentence of the batch", scale=downwards),
            y2="below:Q",
            color=alt.Color("part:N", scale=colors, legend=alt.Legend(title="position is")),
        )
    )
