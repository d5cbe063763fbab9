"""A beam search as a tree that grows step by step (§6.1)."""

from collections.abc import Callable, Sequence

import altair as alt

from lessonkit.analysis.beam_tree import BeamTree, Candidate, Fate
from lessonkit.charts.controls import slider
from lessonkit.charts.style import OURS, PAPER, SOURCE, TARGET
from transformer.config import BOS_ID, EOS_ID
from transformer.decoding import length_penalty
from transformer.support.errors import UserError

MAX_NODES = 600  # more would be neither readable nor quick
STEP_WIDTH, RANK_HEIGHT = 92, 46  # pixels between two columns, two rows
COLORS = {Fate.KEPT: SOURCE, Fate.FINISHED: OURS, Fate.DROPPED: PAPER}

SHOWN = "datum.step <= step"
ON_PATH = f"datum.winner && step == {{last}} ? '{TARGET}' : '#dddddd'"

Row = dict[str, object]


def beam_explorer(tree: BeamTree, token: Callable[[int], str]) -> alt.LayerChart:
    """Draw every candidate of a search, a column for each step, with a slider for the step.

    The best total stands on top. Blue is followed further, green is a finished translation,
    grey was looked at and dropped. At the last step the best translation's path is orange.

    Args:
        tree: From `lessonkit.analysis.beam_tree.grow_beam_tree`.
        token: Gives the text of a target id.

    Raises:
        UserError: the tree is too large to be read.
    """
    nodes = _nodes(tree, token)
    if len(nodes) > MAX_NODES:
        raise UserError(
            f"a tree of {len(nodes)} candidates is too large to draw, {MAX_NODES} can be: give a "
            "shorter sentence or a smaller beam"
        )
    last = len(tree.steps)
    most = max(len(candidates) for candidates in tree.steps)
    step = slider("step", last, 1, last)
    title = f"'Beam search, step ' + step + ' of {last}'"
    shown = alt.Chart(alt.Data(values=nodes)).transform_filter(SHOWN)
    return alt.LayerChart(
        layer=[layer.encode(*_axes(last, most)) for layer in _layers(shown, step, last)]
    ).properties(
        name="beam",
        width=STEP_WIDTH * (last + 1),
        height=RANK_HEIGHT * most,
        title=alt.Title(text=alt.ExprRef(title), anchor="start"),
        description=_description(tree, nodes),
    )


def _axes(last: int, most: int) -> tuple[alt.X, alt.Y]:
    """Give the places of steps and ranks, the best rank on top."""
    steps, ranks = list(range(last + 1)), list(range(1, most + 1))
    x = alt.X(
        "step:Q",
        title="step (target tokens written)",
        scale=alt.Scale(domain=[-0.5, last + 0.5], nice=False),
        axis=alt.Axis(values=steps, format="d", grid=False),
    )
    y = alt.Y(
        "rank:Q",
        title="rank of the total log probability",
        scale=alt.Scale(domain=[most + 0.5, 0.5], nice=False),
        axis=alt.Axis(values=ranks, format="d", grid=False),
    )
    return x, y


def _layers(shown: alt.Chart, step: alt.Parameter, last: int) -> list[alt.Chart]:
    """Give the lines to the parents, the candidates, their tokens and their totals.

    Each text stands on a white copy of itself with a rim, so that no line crosses it.
    """
    path = alt.value(alt.expr(ON_PATH.format(last=last)))
    color = alt.Color(
        "fate:N",
        scale=alt.Scale(domain=list(COLORS), range=list(COLORS.values())),
        legend=alt.Legend(title="candidate", orient="top"),
    )
    tooltip = [
        alt.Tooltip("text:N", title="so far"),
        alt.Tooltip("log_prob:Q", title="log probability of the token (nats)", format=".2f"),
        alt.Tooltip("total:Q", title="total (nats)", format=".2f"),
        alt.Tooltip("score:Q", title="total / length penalty", format=".2f"),
        alt.Tooltip("fate:N", title="what becomes of it"),
    ]
    edges = shown.mark_rule(aria=False, strokeWidth=2)
    points = shown.mark_circle(aria=False, size=90, opacity=1)
    token, total = alt.Text("token:N"), alt.Text("total:Q", format=".2f")
    texts: list[alt.Chart] = []
    for rim in (3, 0):
        above = shown.mark_text(aria=False, stroke="white", strokeWidth=rim, dy=-13, fontSize=12)
        below = shown.mark_text(
            aria=False, stroke="white", strokeWidth=rim, dy=15, fontSize=10, color=PAPER
        )
        texts += [above.encode(text=token), below.encode(text=total)]
    return [
        edges.encode(x2="parent_step:Q", y2="parent_rank:Q", color=path).add_params(step),
        *texts,
        points.encode(color=color, tooltip=tooltip),
    ]


def _nodes(tree: BeamTree, token: Callable[[int], str]) -> list[Row]:
    """Give a row for each candidate, with its own place and its parent's."""
    best = tree.hypotheses[0]
    winner = (*best.ids, EOS_ID) if best.finished else tuple(best.ids)
    middle = (1 + max(len(candidates) for candidates in tree.steps)) / 2
    root = Candidate((BOS_ID,), 0.0, 0.0, Fate.KEPT)
    places: dict[tuple[int, ...], tuple[int, float]] = {(): (0, middle)}
    rows: list[Row] = [
        _facts(root, tree.alpha, [token(BOS_ID)])
        | {"step": 0, "rank": middle, "parent_step": 0, "parent_rank": middle, "winner": True}
    ]
    for step, candidates in enumerate(tree.steps, start=1):
        for rank, candidate in enumerate(candidates, start=1):
            parent_step, parent_rank = places[candidate.ids[:-1]]
            rows.append(
                _facts(candidate, tree.alpha, [token(number) for number in candidate.ids])
                | {"step": step, "rank": rank}
                | {"parent_step": parent_step, "parent_rank": parent_rank}
                | {"winner": candidate.ids == winner[:step]}
            )
        places = {c.ids: (step, rank) for rank, c in enumerate(candidates, start=1)}
    return rows


def _facts(candidate: Candidate, alpha: float, tokens: Sequence[str]) -> Row:
    """Give what a reader may want to know of a candidate."""
    return {
        "token": tokens[-1],
        "text": " ".join(tokens),
        "log_prob": round(candidate.log_prob, 3),
        "total": round(candidate.total, 3),
        "score": round(candidate.total / length_penalty(len(tokens), alpha), 3),
        "fate": candidate.fate.value,
    }


def _description(tree: BeamTree, nodes: Sequence[Row]) -> str:
    found = [row for row in nodes if row["winner"]][-1]
    finished = sum(row["fate"] == Fate.FINISHED for row in nodes)
    return (
        f"Tree of a beam search with {len(tree.steps)} steps: {len(nodes) - 1} candidates, "
        f"{finished} of them finished translations. A column for each step, the most probable "
        "prefix on top, a line from each to the prefix that it continues. A slider "
        f"chooses the step. The best translation: {found['text']}, total {found['total']} nats."
    )
