"""A beam search as a tree that grows step by step (§6.1); a next token drawn.

Drawing is not in the paper: Holtzman et al. (2020), "The Curious Case of Neural Text Degeneration".
"""

import json
from collections.abc import Callable, Sequence

import altair as alt

from lessonkit.analysis.beam_tree import BeamTree, Candidate, CandidateStatus
from lessonkit.charts.controls import (
    colour_scale,
    explorer_of_overlaid_charts,
    make_quantity_channel,
    make_slider,
)
from lessonkit.charts.style import (
    GRID_COLOUR,
    OURS_COLOUR,
    PAPER_COLOUR,
    SOURCE_COLOUR,
    TARGET_COLOUR,
)
from transformer.config import BOS_ID, EOS_ID
from transformer.decoding import length_penalty
from transformer.support.checks import check_has_items
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

MAX_TREE_NODES = 600  # more would be neither readable nor quick
STEP_WIDTH_PIXELS, RANK_HEIGHT_PIXELS = 92, 46  # pixels between two columns, two rows
MAX_TREE_STEPS = 60  # about 5,600 pixels
COLOUR_BY_STATUS = {
    CandidateStatus.KEPT: SOURCE_COLOUR,
    CandidateStatus.FINISHED: OURS_COLOUR,
    CandidateStatus.DROPPED: PAPER_COLOUR,
}
MAX_TOKEN_BARS = 12  # of the most probable types
BEAM_TITLE_EXPR = "'Beam search, step ' + step"

DataRow = dict[str, object]


@check_argument_types
def beam_explorer(tree: BeamTree, token: Callable[[int], str]) -> alt.LayerChart:
    """Draw every candidate of a search, a column for each step, with a slider for the step (§6.1).

    The best total stands on top. Blue is followed further, green is a finished translation,
    grey was looked at and dropped. At the last step the best translation's path is orange.
    `token` gives the text of a target id. Too large a tree is a UserError.
    """
    check_has_items("tree.steps", tree.steps)
    check_has_items("tree.hypotheses", tree.hypotheses)
    nodes = _candidate_rows(tree, token)
    _check_tree_size(len(nodes), len(tree.steps))
    num_steps, num_ranks = len(tree.steps), max(map(len, tree.steps))
    x = make_quantity_channel(
        alt.X,
        "step",
        "step (target tokens written)",
        {"domain": [-0.5, num_steps + 0.5], "nice": False},
        values=list(range(num_steps + 1)),
        format="d",
        grid=False,
    )
    y = make_quantity_channel(
        alt.Y,
        "rank",
        "rank of the total log probability",
        {"domain": [num_ranks + 0.5, 0.5], "nice": False},
        values=list(range(1, num_ranks + 1)),
        format="d",
        grid=False,
    )
    best = [row for row in nodes if row["winner"]][-1]
    finished = sum(row["status"] == CandidateStatus.FINISHED for row in nodes)
    description = (
        f"Tree of a beam search with {num_steps} steps: {len(nodes) - 1} candidates, "
        f"{finished} of them finished translations. A column for each step, the most probable "
        "prefix on top, a line from each to the prefix that it continues. A slider chooses the "
        f"step. The best translation: {best['text']}, total {best['total']} nats."
    )
    layers = [layer.encode(x, y) for layer in _beam_tree_layers(nodes, num_steps)]
    size = (STEP_WIDTH_PIXELS * (num_steps + 1), RANK_HEIGHT_PIXELS * num_ranks)
    controls = [make_slider("step", num_steps, 1, num_steps)]
    title = f"{BEAM_TITLE_EXPR} + ' of {num_steps}'"
    return explorer_of_overlaid_charts("beam", size, title, controls, layers, description)


def _check_tree_size(num_nodes: int, num_steps: int) -> None:
    """Raise a UserError if a tree is too large to draw."""
    if num_nodes > MAX_TREE_NODES or num_steps > MAX_TREE_STEPS:
        raise UserError(
            f"a tree of {num_nodes} candidates in {num_steps} steps is too large to draw, "
            f"{MAX_TREE_NODES} in {MAX_TREE_STEPS} can be: give a shorter sentence or a smaller "
            "beam"
        )


def _beam_tree_layers(nodes: list[DataRow], num_steps: int) -> list[alt.Chart]:
    """Return the lines to the parents, the tokens, the totals, and the candidates as dots."""
    shown = alt.Chart(alt.Data(values=nodes)).transform_filter("datum.step <= step")
    path = f"datum.winner && step == {num_steps} ? '{TARGET_COLOUR}' : '{GRID_COLOUR}'"
    legend = alt.Legend(title="candidate", orient="top")
    color = alt.Color(
        "status:N", scale=colour_scale(COLOUR_BY_STATUS, COLOUR_BY_STATUS.values()), legend=legend
    )
    tooltip = [
        alt.Tooltip("text:N", title="so far"),
        alt.Tooltip("log_prob:Q", title="log probability of the token (nats)", format=".2f"),
        alt.Tooltip("total:Q", title="total (nats)", format=".2f"),
        alt.Tooltip("score:Q", title="total / length penalty", format=".2f"),
        alt.Tooltip("status:N", title="what becomes of it"),
    ]
    edges = shown.mark_rule(aria=False, strokeWidth=2).encode(
        x2="parent_step:Q", y2="parent_rank:Q", color=alt.value(alt.expr(path))
    )
    above = shown.mark_text(dy=-13, fontSize=12, aria=False, limit=STEP_WIDTH_PIXELS).encode(
        text="token:N"
    )
    total = alt.Text("total:Q", format=".2f")
    below = shown.mark_text(dy=15, fontSize=10, aria=False).encode(text=total)
    points = shown.mark_circle(aria=False, size=90, opacity=1).encode(color=color, tooltip=tooltip)
    return [edges, above, below, points]


def _candidate_rows(tree: BeamTree, token: Callable[[int], str]) -> list[DataRow]:
    """Return a row for each candidate, with its own place and its parent's."""
    best = tree.hypotheses[0]
    winner = (*best.ids, EOS_ID) if best.finished else tuple(best.ids)
    middle = (1 + max(map(len, tree.steps))) / 2
    root = Candidate((BOS_ID,), 0.0, 0.0, CandidateStatus.KEPT)
    places: dict[tuple[int, ...], tuple[int, float]] = {(): (0, middle)}
    rows: list[DataRow] = [
        {
            **_candidate_fields(root, tree.alpha, [token(BOS_ID)]),
            "step": 0,
            "rank": middle,
            "parent_step": 0,
            "parent_rank": middle,
            "winner": True,
        }
    ]
    for step, candidates in enumerate(tree.steps, start=1):
        for rank, candidate in enumerate(candidates, start=1):
            parent_step, parent_rank = places[candidate.ids[:-1]]
            rows.append(
                {
                    **_candidate_fields(
                        candidate, tree.alpha, [token(number) for number in candidate.ids]
                    ),
                    "step": step,
                    "rank": rank,
                    "parent_step": parent_step,
                    "parent_rank": parent_rank,
                    "winner": candidate.ids == winner[:step],
                }
            )
        places = {candidate.ids: (step, rank) for rank, candidate in enumerate(candidates, start=1)}
    return rows


def _candidate_fields(candidate: Candidate, alpha: float, tokens: Sequence[str]) -> DataRow:
    """Return what a reader may want to know of a candidate."""
    return {
        "token": tokens[-1],
        "text": " ".join(tokens),
        "log_prob": round(candidate.log_prob, 3),
        "total": round(candidate.total, 3),
        "score": round(candidate.total / length_penalty(len(tokens), alpha), 3),
        "status": candidate.status.value,
    }


@check_argument_types
def sampling_explorer(
    log_probs: Sequence[float], tokens: Sequence[str], temperature: float = 1.0, top_p: float = 0.9
) -> alt.LayerChart:
    """Draw how probable each next token is after temperature and top-p have changed it.

    Not in the paper. Green bars can be drawn, and their lengths sum to 1 with those that are not
    shown; grey ones are cut, and have the length that they had before. Each type of the vocabulary
    has its log probability (nats), in any order; the 12 most probable ones have texts, the best
    first.
    """
    bars = min(MAX_TOKEN_BARS, len(log_probs))
    if len(tokens) != bars:
        raise UserError(f"{len(tokens)} texts for {bars} bars: give {bars}, the best first")
    controls = [
        make_slider("temperature", temperature, 0.1, 2.0, 0.1),
        make_slider("top_p", top_p, 0.05, 1, 0.05),
    ]
    ranked = _chart_of_ranked_types(log_probs)
    bar_rows = _base_chart_of_top_types(ranked, tokens)
    kept = alt.condition("datum.kept", alt.value(OURS_COLOUR), alt.value(PAPER_COLOUR))
    figures = bar_rows.mark_text(aria=False, align="left", dx=4).encode(
        text=alt.Text("length:Q", format=".1%"), color=kept
    )
    types = f"{len(log_probs):,}"
    number = (
        ranked.transform_filter("datum.kept")
        .transform_aggregate(many="count()")
        .transform_calculate(text=f"format(datum.many, ',') + ' of {types} types can be drawn'")
        .mark_text(aria=False, align="right", baseline="bottom", fontSize=13)
        .encode(
            x=alt.value(474), y=alt.value("height"), text="text:N", color=alt.value(OURS_COLOUR)
        )
    )
    title = "'Temperature ' + format(temperature, '.1f') + ', top_p ' + format(top_p, '.2f')"
    description = (
        f"Bar chart of the {bars} most probable next tokens ({', '.join(tokens)}) with "
        f"temperature {temperature:g} and top_p {top_p:g}: those that can be drawn in green, "
        f"those cut in grey, of {types} types. Controls change temperature and top_p."
    )
    layers = [bar_rows.mark_bar(aria=False).encode(color=kept), figures, number]
    return explorer_of_overlaid_charts(
        "sampling", (480, 22 * bars), title, controls, layers, description
    )


def _chart_of_ranked_types(log_probs: Sequence[float]) -> alt.Chart:
    """Compute each type's rank, its probability with the temperature, and its share of the nucleus.

    The log probabilities stand in one text: a list of thousands would fill a notebook with lines.
    """
    numbers = " ".join(f"{log_prob:.2f}" for log_prob in sorted(log_probs, reverse=True))
    return (
        alt.Chart(alt.Data(values=[{"log_prob": numbers}]))
        .transform_calculate(log_prob="split(datum.log_prob, ' ')")
        .transform_flatten(["log_prob"])
        .transform_window(rank="row_number()")
        .transform_calculate(power="exp(toNumber(datum.log_prob) / temperature)")
        .transform_joinaggregate(total="sum(power)")
        .transform_calculate(p="datum.power / datum.total")
        .transform_window(reached="sum(p)", frame=[None, 0])
        .transform_calculate(kept="datum.reached - datum.p < top_p")
        .transform_calculate(kept_p="datum.kept ? datum.p : 0")
        .transform_joinaggregate(kept_sum="sum(kept_p)")
        .transform_calculate(length="datum.kept ? datum.p / datum.kept_sum : datum.p")
    )


def _base_chart_of_top_types(ranked: alt.Chart, tokens: Sequence[str]) -> alt.Chart:
    """Return what bars and figures share: a row for each of the best types, and a length."""
    texts = json.dumps(list(tokens), ensure_ascii=False)
    x = make_quantity_channel(
        alt.X, "length", "probability of being drawn", {"domain": [0, 1]}, format="%"
    )
    return (
        ranked.transform_filter(f"datum.rank <= {len(tokens)}")
        .transform_calculate(token=f"{texts}[datum.rank - 1]")
        .encode(x, alt.Y("token:N", sort=list(tokens), title="next token"))
    )
