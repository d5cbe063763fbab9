"""The steps of a trace that the trace explorer shows: named matrices, part by part (§3)."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from lessonkit.analysis.tracing import EmbeddingTrace, Trace
from transformer.positions import rotate
from transformer.support.errors import UserError, unknown_name_error

NUM_RANKED_TYPES = 8  # types shown for each position: the one written, then the likeliest others
ROPE_POSITION_SHIFT = 7  # positions by which the rotated queries and keys are shifted, to compare


@dataclass(frozen=True)
class TraceStep:
    """One step of a trace, as a table."""

    name: str  # in the control that chooses a step
    about: str  # one line on what it is
    rows: list[str]  # the label of each row
    values: Tensor  # (rows, columns); NaN where there is nothing
    columns: Sequence[str] = ()  # their labels; none if columns are the dimensions of a vector
    words: list[list[str]] = field(default_factory=list)  # texts of the cells, if not numbers
    shares: bool = False  # whether the values are weights or probabilities, from 0 to 1


def steps_of_part(trace: Trace, part: str | None) -> list[TraceStep]:
    """Return the steps of a part, a key of `STEPS_FUNCTION_BY_PART`; None means the whole model."""
    if part is None:
        return _whole_model_steps(trace)
    if part not in STEPS_FUNCTION_BY_PART:
        raise unknown_name_error("part", part, list(STEPS_FUNCTION_BY_PART))
    return STEPS_FUNCTION_BY_PART[part](trace)


def _text_steps(trace: Trace) -> list[TraceStep]:
    """Return the steps from text to ids, on both sides (§5.1)."""
    source, target = trace.source, trace.target
    texts, marked = ["source", "target"], ["src", "tgt_in", "tgt_out"]
    bare = [source.tokens[:-1], target.tokens[1:]]
    pieces = [source.tokens, target.tokens, trace.written]
    ids = [map(str, each.tolist()) for each in (source.ids, target.ids, trace.written_ids)]
    space = "▁ is the space before a word"
    return [
        _make_text_cells_step("text", "two rows of characters", texts, [source.text, target.text]),
        _make_text_cells_step(
            "pieces", f"cut into entries of the vocabulary; {space}", texts, bare
        ),
        _make_text_cells_step(
            "marks", "where a sentence ends, and where writing begins", marked, pieces
        ),
        _make_text_cells_step("ids", "each piece's number in the vocabulary", marked, ids),
    ]


def _embedding_steps(side: EmbeddingTrace) -> list[TraceStep]:
    """Return the steps from token vectors to their sum with positions (§3.4, §3.5)."""
    rows = _numbered_tokens(side.tokens)
    return [
        TraceStep("token vectors", "rows of the embedding, times √d_model", rows, side.vectors),
        TraceStep("wave", "what a position adds, whatever the word", rows, side.positions),
        TraceStep("sum", "token vectors and wave: what the first layer reads", rows, side.embedded),
    ]


def _attention_steps(trace: Trace) -> list[TraceStep]:
    """Return the steps of one head, line by line of Eq. 1, and of joining all heads (§3.2)."""
    at = trace.attention
    queries, keys, across = _query_labels(trace), _numbered_tokens(at.key_tokens), at.key_tokens
    d_k, hidden = at.queries.shape[-1], int((~at.mask).sum())
    root = f"over √{d_k} = {math.sqrt(d_k):.2f}"
    masked = at.masked.masked_fill(~at.mask, math.nan)
    of = f"head {at.head}"
    return [
        TraceStep("queries", f"{of}: what each piece asks for, {d_k} numbers", queries, at.queries),
        TraceStep("keys", f"{of}: what each piece is found by", keys, at.keys),
        TraceStep("scores", "each query times each key, q · k", queries, at.scores, across),
        TraceStep("scaled", f"the scores {root}", queries, at.scaled, across),
        TraceStep("mask", f"{hidden} of {at.mask.numel()} places hidden", queries, masked, across),
        TraceStep("weights", "softmax of each row", queries, at.weights, across, shares=True),
        TraceStep("values", f"{of}: what each piece has to give", keys, at.values),
        TraceStep("mix", "the values, averaged by the weights", queries, at.mixed),
        TraceStep("joined", "the mixes of all heads, end to end", queries, at.joined),
        TraceStep("output", "after the output projection", queries, at.output),
    ]


def _position_steps(trace: Trace) -> list[TraceStep]:
    """Return the steps of adding sinusoids (§3.5), then of RoPE, which rotates q and k instead."""
    at = trace.attention
    if at.head.stack == "cross":
        raise UserError(
            f"head {at.head} compares two sentences: for positions trace a head of self-attention, "
            'such as Head("encoder", 1, 1)'
        )
    rows, across = _numbered_tokens(at.query_tokens), at.key_tokens
    turned, keys = rotate(at.queries), rotate(at.keys)
    moved = rotate(at.queries, ROPE_POSITION_SHIFT) @ rotate(at.keys, ROPE_POSITION_SHIFT).T
    return [
        *_embedding_steps(trace.source if at.head.stack == "encoder" else trace.target),
        TraceStep("queries", f"head {at.head}, as the model has them", rows, at.queries),
        TraceStep("turned", "RoPE: the same queries, turned by their place", rows, turned),
        TraceStep("scores", "q · k, as the model has them", rows, at.scores, across),
        TraceStep("turned scores", "RoPE: q and k both turned", rows, turned @ keys.T, across),
        TraceStep(
            "moved",
            f"RoPE, everything {ROPE_POSITION_SHIFT} places further on",
            rows,
            moved,
            across,
        ),
    ]


def _layer_and_probability_steps(trace: Trace) -> list[TraceStep]:
    """Return the steps of the residual stream through a layer, up to probabilities (§3.1, §3.3)."""
    rows = _query_labels(trace)
    firing = float((trace.inner > 0).float().mean())
    inner = f"{firing:.0%} of {trace.inner.shape[-1]} fire, the others are 0 after the ReLU"
    steps = [TraceStep("in", "what comes into the layer", rows, trace.sub_layers[0].before)]
    for sub in trace.sub_layers:
        name = sub.name
        if trace.pre_norm:
            steps.append(TraceStep(f"{name}: norm", "normalised first", rows, sub.sublayer_input))
        if name == "feed-forward":
            steps.append(TraceStep("feed-forward: inner units", inner, rows, trace.inner))
        steps.append(TraceStep(f"{name}: output", "what the sub-layer gives", rows, sub.output))
        steps.append(TraceStep(f"{name}: sum", "what came in, and the output", rows, sub.total))
        if not trace.pre_norm:
            steps.append(TraceStep(f"{name}: norm", "the sum, normalised", rows, sub.after))
    return [*steps, *_logit_and_probability_steps(trace)]


def _logit_and_probability_steps(trace: Trace) -> list[TraceStep]:
    """Return the logits and probabilities of the likeliest types."""
    types = _written_then_likeliest_type_ids(trace)
    logits, chances = trace.logits.gather(-1, types), trace.probabilities.gather(-1, types)
    size = trace.logits.shape[-1]
    return [
        _make_ranked_types_step(trace, "logits", f"a score for each of {size:,} types", logits),
        _make_ranked_types_step(
            trace, "probabilities", "their softmax", chances, 1 - chances.sum(-1), shares=True
        ),
    ]


def _token_choice_steps(trace: Trace) -> list[TraceStep]:
    """Return the steps of a greedy choice, and the log probability of the whole prefix (§6.1)."""
    logs = trace.logits.log_softmax(dim=-1)
    chosen = logs.gather(-1, trace.written_ids[:, None])[:, 0]
    totals = chosen.cumsum(0)[:, None]
    return [
        *_logit_and_probability_steps(trace),
        _make_ranked_types_step(
            trace,
            "log probabilities",
            "ln p, in nats",
            logs.gather(-1, _written_then_likeliest_type_ids(trace)),
        ),
        TraceStep(
            "total",
            "ln p of all that is written so far",
            _read_to_written_token_labels(trace),
            totals,
            ["total"],
        ),
    ]


def _whole_model_steps(trace: Trace) -> list[TraceStep]:
    """Return some steps of each part, from the text to the chosen token."""
    attention = {step.name: step for step in _attention_steps(trace)}
    layer = {step.name: step for step in _layer_and_probability_steps(trace)}
    taken = ("queries", "keys", "scaled", "weights", "values", "mix", "output")
    above = ("feed-forward: inner units", "feed-forward: sum", "logits", "probabilities")
    return [
        *_text_steps(trace)[2:],
        *_embedding_steps(trace.source),
        *(attention[name] for name in taken),
        *(layer[name] for name in above),
    ]


STEPS_FUNCTION_BY_PART: dict[str, Callable[[Trace], list[TraceStep]]] = {
    "text": _text_steps,
    "attention": _attention_steps,
    "positions": _position_steps,
    "layer": _layer_and_probability_steps,
    "choice": _token_choice_steps,
}


def _numbered_tokens(tokens: Sequence[str]) -> list[str]:
    """Return each token with its position, from 0, before it."""
    return [f"{place} {token}" for place, token in enumerate(tokens)]


def _read_to_written_token_labels(trace: Trace) -> list[str]:
    """Return labels of target positions: the token read there, and the token written then."""
    pairs = zip(trace.target.tokens, trace.written, strict=True)
    return _numbered_tokens([f"{read} → {written}" for read, written in pairs])


def _query_labels(trace: Trace) -> list[str]:
    """Return labels of the positions of the stack that the traced head belongs to."""
    inside = trace.attention.head.stack == "encoder"
    return _numbered_tokens(trace.source.tokens) if inside else _read_to_written_token_labels(trace)


def _make_text_cells_step(
    name: str, about: str, rows: list[str], words: Sequence[Iterable[str]]
) -> TraceStep:
    """Make a step whose cells are texts; shorter rows are filled up with empty ones."""
    kept = [list(row) for row in words]
    longest = max(map(len, kept))
    filled = [row + [""] * (longest - len(row)) for row in kept]
    return TraceStep(name, about, rows, torch.full((len(rows), longest), math.nan), words=filled)


def _written_then_likeliest_type_ids(trace: Trace) -> Tensor:
    """Return the type written at each position, then the likeliest others, (tgt_len, types)."""
    first = trace.written_ids[:, None]
    others = trace.probabilities.scatter(-1, first, -1.0).topk(NUM_RANKED_TYPES - 1).indices
    return torch.cat((first, others), dim=-1)


def _make_ranked_types_step(
    trace: Trace,
    name: str,
    about: str,
    values: Tensor,
    rest: Tensor | None = None,
    shares: bool = False,
) -> TraceStep:
    """Make a step of numbers of the ranked types, (tgt_len, types), and perhaps of all others."""
    words = [
        [trace.types[number] for number in row]
        for row in _written_then_likeliest_type_ids(trace).tolist()
    ]
    if rest is not None:
        values = torch.cat((values, rest.clamp(min=0)[:, None]), dim=-1)
        words = [[*row, "all others"] for row in words]
    return TraceStep(
        name, about, _read_to_written_token_labels(trace), values, words=words, shares=shares
    )
