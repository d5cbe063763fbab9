"""An explorer of ablations: a translation with something taken away beside the whole model's.

Not in the paper. Stored data: every ablation on offer is made beforehand, no kernel is needed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

import altair as alt
from torch import Tensor

from lessonkit.analysis.ablation import (
    EDGE_KIND_BY_STACK,
    MEAN_HEAD_KIND,
    PATCHED_HEAD_ABLATION_KIND,
    SOURCE_AFTER_ENCODER_KIND,
    SOURCE_HIDDEN_BEFORE_ENCODER,
    ZERO_HEAD_KIND,
    AblatedTranslation,
    AblationSpec,
    AblationStudy,
    LabelledAblationSpec,
    edge_ablation_specs,
    head_ablation_specs,
    source_ablation_specs,
)
from lessonkit.analysis.activations import record_activations
from lessonkit.analysis.heads import Head, all_heads
from lessonkit.charts.ablation_views import draw_probability_bars, draw_token_lines
from lessonkit.charts.controls import (
    have_wide_letters,
    make_drop_down,
    make_slider,
    text_width_letters,
)
from transformer.config import BOS_ID, SPECIAL_TOKENS
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

NO_ABLATION_KIND = "nothing"
MAX_ABLATIONS_PER_CHART = 1_000  # more would make a chart too large to store, and its reader wait
# What follows in a translation that runs on is left out.
MAX_LETTERS_PER_TOKEN_LINE = 100
MAX_BARS_PER_TOKEN = 5
MIN_SHOWN_TOKEN_PROBABILITY = 0.01  # of a token that has a bar
NUM_TOP_TOKENS_PER_MODEL = 3  # of the old tokens and of the new ones


@check_argument_types
def ablation_explorer(
    translator: Translator,
    sentence: str,
    *,
    means: Mapping[Head, Tensor],
    other: str,
    edges: bool = True,
    kind: str = SOURCE_AFTER_ENCODER_KIND,
    key: int = 0,
    query: int = 0,
    token: int = 0,
) -> alt.VConcatChart:
    """Draw a translation with and without something, and the next token's probabilities.

    Controls above the picture choose what is taken away, at which position, key, query or head, and
    after which token of the translation the next one is asked for.

    Args:
        translator, sentence: A Transformer, which translates greedily, and plain text.
        means: From `mean_head_outputs`: what can stand in an ablated head's place.
        other: A sentence whose heads' outputs can be patched in.
        edges: Whether edges can be ablated, each in all heads of all layers of its stack.
        kind: What is taken away at first: "nothing", or a kind of `analysis.ablation`.
        key, query, token: The positions, and which next token, to begin with; from 0.
    """
    study = AblationStudy(translator, sentence)
    _check_num_ablations(len(study.src_tokens), len(study.tgt_tokens), edges)
    kinds = _ablation_kinds(edges)
    controls = _make_controls(study, edges, kind, key, query, token)
    rows = list(_chart_rows(study, _all_ablations(study, edges, means, other)))
    vocab = _pieces_by_id(study, rows)
    views: dict[str, object] = {
        "src": study.src_tokens,
        "said": study.tgt_tokens,
        "read": [SPECIAL_TOKENS[BOS_ID], *study.tgt_tokens[:-1]],
        "vocab": vocab,
        "other": other,
    }
    chart = alt.vconcat(
        draw_token_lines(edges, have_wide_letters([*study.src_tokens, *vocab.values()])),
        draw_probability_bars(edges, MAX_BARS_PER_TOKEN),
        data=alt.Data(values=rows),
    )
    chart = chart.add_params(alt.param(name="views", value=views), *controls)
    return chart.resolve_scale(color="independent").properties(
        name="ablation",
        spacing=8,
        description="Two pictures of a translation with something taken away. Above, the source, "
        "the whole model's translation and the one after the cut, new tokens in orange. Below, the "
        "next token's probabilities, before and after. What can be taken away: "
        f"{', '.join(kinds)}. Source: {' '.join(study.src_tokens)} Translation: "
        f"{' '.join(study.tgt_tokens)}",
    )


def _make_controls(
    study: AblationStudy, edges: bool, kind: str, key: int, query: int, token: int
) -> list[alt.Parameter]:
    """Return the controls, which begin with these choices; `query` only where there are edges."""
    src_len, tgt_len = len(study.src_tokens), len(study.tgt_tokens)
    heads = [str(head) for head in all_heads(study.model)]
    last_position = (max(src_len, tgt_len) if edges else src_len) - 1
    key_label = "place or key" if edges else "place"
    controls = [
        make_drop_down("ablation", kind, _ablation_kinds(edges), "take away"),
        make_slider("key", key, 0, last_position, label=key_label),
    ]
    if edges:
        controls.append(make_slider("query", query, 0, last_position))
    controls.append(make_drop_down("head", heads[0], heads))
    controls.append(make_slider("next", token, 0, tgt_len - 1, label="next token"))
    return controls


def _ablation_kinds(edges: bool) -> list[str]:
    """Return what the reader can choose to take away, in the list's order."""
    kinds = [NO_ABLATION_KIND, SOURCE_HIDDEN_BEFORE_ENCODER, SOURCE_AFTER_ENCODER_KIND]
    if edges:
        kinds += EDGE_KIND_BY_STACK.values()
    return [*kinds, ZERO_HEAD_KIND, MEAN_HEAD_KIND, PATCHED_HEAD_ABLATION_KIND]


def _check_num_ablations(src_len: int, tgt_len: int, edges: bool) -> None:
    """Raise a UserError for a sentence with too many edges, before any of them is ablated."""
    count = 2 * src_len
    if edges:
        count += src_len**2 + src_len * tgt_len + tgt_len**2 // 2
    if count > MAX_ABLATIONS_PER_CHART:
        raise UserError(
            f"{count:,} ablations to make, and a chart holds {MAX_ABLATIONS_PER_CHART:,}: "
            "give a shorter sentence"
        )


def _all_ablations(
    study: AblationStudy, edges: bool, means: Mapping[Head, Tensor], other: str
) -> Iterator[LabelledAblationSpec]:
    """Yield every ablation that can be chosen, the empty one first."""
    yield LabelledAblationSpec(NO_ABLATION_KIND, "", AblationSpec())
    yield from source_ablation_specs(study)
    if edges:
        yield from edge_ablation_specs(study)
    yield from head_ablation_specs(study, means, record_activations(study.translator, other))


def _chart_rows(
    study: AblationStudy, ablations: Iterable[LabelledAblationSpec]
) -> Iterator[dict[str, object]]:
    """Yield the two lines of tokens that always stand, and a row for each ablation."""
    yield {"line": 0, "label": "source", "tokens": study.src_tokens}
    yield {"line": 1, "label": "whole model", "tokens": study.tgt_tokens}
    for kind, target, ablation in ablations:
        ablated = study.translate_sentence_without(ablation)
        tokens = _shorten_to_line(study.translator.tgt_tokenizer.ids_to_pieces(ablated.ids))
        same = ablated.ids == study.baseline.ids
        yield {
            "line": 2,
            "label": "the same, cut" if same else "cut",
            "ablation": kind,
            "target": target,
            "tokens": tokens,
            "new": _new_token_flags(study.tgt_tokens, tokens),
            "probabilities": _pack_probability_bars(study.baseline, ablated),
        }


def _shorten_to_line(tokens: Sequence[str]) -> list[str]:
    """Return as many tokens as a line holds."""
    letters = 0
    for count, token in enumerate(tokens):
        letters += text_width_letters(token) + 1
        if letters > MAX_LETTERS_PER_TOKEN_LINE:
            return [*tokens[:count], "..."]
    return list(tokens)


def _new_token_flags(before: Sequence[str], after: Sequence[str]) -> list[int]:
    """Return 1 for each token that was not there before, else 0."""
    new = [1] * len(after)
    matcher = SequenceMatcher(None, list(before), list(after), autojunk=False)
    for block in matcher.get_matching_blocks():
        new[block.b : block.b + block.size] = [0] * block.size
    return new


def _pack_probability_bars(baseline: AblatedTranslation, ablated: AblatedTranslation) -> list[str]:
    """Return for each next token the likeliest ones: "id old new", in hundredths, by commas.

    The likeliest by the whole model comes first; of equal ones, the likeliest after the ablation.
    """
    steps = []
    for old, new in zip(baseline.probabilities, ablated.probabilities, strict=True):
        candidates = {
            *old.topk(NUM_TOP_TOKENS_PER_MODEL).indices.tolist(),
            *new.topk(NUM_TOP_TOKENS_PER_MODEL).indices.tolist(),
        }
        chosen = int(old.argmax())
        likely = [
            token
            for token in candidates
            if token == chosen or max(old[token], new[token]) >= MIN_SHOWN_TOKEN_PROBABILITY
        ]
        likely.sort(key=lambda i: (-round(float(old[i]), 2), -float(new[i]), i))
        steps.append(
            ",".join(
                f"{i} {100 * old[i]:.0f} {100 * new[i]:.0f}" for i in likely[:MAX_BARS_PER_TOKEN]
            )
        )
    return steps


def _pieces_by_id(study: AblationStudy, rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the tokens of the ids that bars stand for."""
    ids: set[int] = set()
    for row in rows:
        for step in row.get("probabilities", []):
            ids.update(int(bar.split()[0]) for bar in step.split(","))
    ordered = sorted(ids)
    pieces = study.translator.tgt_tokenizer.ids_to_pieces(ordered)
    return {str(token_id): piece for token_id, piece in zip(ordered, pieces, strict=True)}
