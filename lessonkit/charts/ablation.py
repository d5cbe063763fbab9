"""Something taken away from a model, and what it says then beside what it said before.

Not in the paper. Stored data: every cut on offer is made beforehand, no kernel is needed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

import altair as alt
from torch import Tensor

from lessonkit.analysis.ablation import (
    EDGE_KINDS,
    MEAN_HEAD,
    PATCHED_HEAD,
    SOURCE_AFTER_ENCODER,
    SOURCE_BEFORE_ENCODER,
    ZERO_HEAD,
    AblatedTranslation,
    Ablation,
    AblationStudy,
    LabelledAblation,
    edge_ablations,
    head_ablations,
    source_ablations,
)
from lessonkit.analysis.activations import record_activations
from lessonkit.analysis.heads import Head, all_heads
from lessonkit.charts.ablation_views import bars, lines
from lessonkit.charts.controls import choice, slider
from transformer.config import BOS_ID, SPECIAL_TOKENS
from transformer.models.translator import Translator
from transformer.support.errors import UserError

NOTHING = "nothing"
MAX_CUTS = 1_000  # more would make a chart too large to store, and its reader wait
MAX_LETTERS = 100  # of a line; what follows in a translation that runs on is left out
BARS, MIN_PROBABILITY = 5, 0.01  # tokens shown at most, and the probability from which one is
TOP = 3  # of the old tokens and of the new ones


def ablation_explorer(
    translator: Translator,
    sentence: str,
    *,
    means: Mapping[Head, Tensor],
    other: str,
    edges: bool = True,
    kind: str = SOURCE_AFTER_ENCODER,
    key: int = 0,
    query: int = 0,
    token: int = 0,
) -> alt.VConcatChart:
    """Draw a translation with and without something, and the next token's probabilities.

    Controls above the picture choose what is taken away (`kind`), which place, key, query or
    head, and after which token of the translation the next one is asked for.

    Args:
        translator, sentence: A Transformer, which translates greedily, and plain text.
        means: From `mean_head_outputs`: what can stand in a removed head's place.
        other: A sentence whose heads can be swapped in.
        edges: Whether edges can be cut, each in all heads of all layers of its stack.
        kind: What is taken away at first: "nothing", or a name of `analysis.ablation`.
        key, query, token: The places, and which next token, to begin with; from 0.
    """
    study = AblationStudy(translator, sentence)
    kinds = [
        NOTHING,
        SOURCE_BEFORE_ENCODER,
        SOURCE_AFTER_ENCODER,
        *(EDGE_KINDS.values() if edges else ()),
    ]
    kinds += [ZERO_HEAD, MEAN_HEAD, PATCHED_HEAD]
    controls = [choice("cut", kind, kinds, "take away")]
    src_len, tgt_len = len(study.src_tokens), len(study.tgt_tokens)
    _check_size(src_len, tgt_len, edges)
    most = max(src_len, tgt_len) if edges else src_len
    controls.append(slider("key", key, 0, most - 1, label="place or key" if edges else "place"))
    if edges:
        controls.append(slider("query", query, 0, most - 1))
    names = [str(head) for head in all_heads(study.model)]
    controls.append(choice("head", names[0], names))
    controls.append(slider("next", token, 0, tgt_len - 1, label="next token"))
    rows = list(_rows(study, _cuts(study, edges, means, other)))
    tokens = [SPECIAL_TOKENS[BOS_ID], *study.tgt_tokens[:-1]]
    views: dict[str, object] = {"src": study.src_tokens, "said": study.tgt_tokens, "read": tokens}
    views |= {"vocab": _vocabulary(study, rows), "other": other}
    chart = alt.vconcat(lines(edges), bars(edges, BARS), data=alt.Data(values=rows))
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


def _check_size(src_len: int, tgt_len: int, edges: bool) -> None:
    """Refuse a sentence with too many edges before any of them is cut."""
    count = 2 * src_len + edges * (src_len**2 + src_len * tgt_len + tgt_len**2 // 2)
    if count > MAX_CUTS:
        raise UserError(
            f"{count:,} cuts to make, and a chart holds {MAX_CUTS:,}: give a shorter sentence"
        )


def _cuts(
    study: AblationStudy, edges: bool, means: Mapping[Head, Tensor], other: str
) -> Iterator[LabelledAblation]:
    """Give every cut that can be chosen; nothing at all first."""
    yield NOTHING, "", Ablation()
    yield from source_ablations(study)
    if edges:
        yield from edge_ablations(study)
    yield from head_ablations(study, means, record_activations(study.translator, other))


def _rows(study: AblationStudy, cuts: Iterable[LabelledAblation]) -> Iterator[dict[str, object]]:
    """Give the lines of tokens that always stand, and a row for each cut's outcome."""
    yield {"line": 0, "label": "source", "tokens": study.src_tokens}
    yield {"line": 1, "label": "whole model", "tokens": study.tgt_tokens}
    for cut, which, made in cuts:
        outcome = study.translate_without(made)
        tokens = _shortened(study.translator.tgt_tokenizer.pieces(outcome.ids))
        same = outcome.ids == study.baseline.ids
        yield {
            "line": 2,
            "label": "the same, cut" if same else "cut",
            "cut": cut,
            "which": which,
            "tokens": tokens,
            "new": _new(study.tgt_tokens, tokens),
            "chances": _chances(study.baseline, outcome),
        }


def _shortened(tokens: Sequence[str]) -> list[str]:
    """Keep as many tokens as a line holds."""
    kept: list[str] = []
    letters = 0
    for token in tokens:
        letters += len(token) + 1
        if letters > MAX_LETTERS:
            return [*kept, "..."]
        kept.append(token)
    return kept


def _new(before: Sequence[str], after: Sequence[str]) -> list[int]:
    """Mark the tokens that were not there before: 1, else 0."""
    new = [1] * len(after)
    alike = SequenceMatcher(None, list(before), list(after), autojunk=False)
    for block in alike.get_matching_blocks():
        new[block.b : block.b + block.size] = [0] * block.size
    return new


def _chances(whole: AblatedTranslation, outcome: AblatedTranslation) -> list[str]:
    """For each next token write the likeliest old and new ones: "id old new" in hundredths."""
    steps = []
    for old, new in zip(whole.probabilities, outcome.probabilities, strict=True):
        ids = {*old.topk(TOP).indices.tolist(), *new.topk(TOP).indices.tolist()}
        likely = [
            i for i in ids if max(old[i], new[i]) >= MIN_PROBABILITY or i == int(old.argmax())
        ]
        # The likeliest old token first, among equal ones the likeliest new one.
        ranked = sorted((-round(float(old[i]), 2), -float(new[i]), i) for i in likely)
        shown = [i for *_, i in ranked[:BARS]]
        steps.append(",".join(f"{i} {100 * old[i]:.0f} {100 * new[i]:.0f}" for i in shown))
    return steps


def _vocabulary(study: AblationStudy, rows: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """Give the tokens of the ids that bars stand for."""
    steps = [step for row in rows for step in row.get("chances", [])]  # type: ignore[attr-defined]
    ids = sorted({int(bar.split()[0]) for step in steps for bar in step.split(",")})
    return dict(zip(map(str, ids), study.translator.tgt_tokenizer.pieces(ids), strict=True))
