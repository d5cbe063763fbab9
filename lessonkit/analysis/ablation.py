"""An ablation study of one sentence: its translation with one thing at a time taken away.

Not in the paper. What an ablation takes away is a position of the source, an edge of attention or a
head; the new translation and the next token's probabilities stand beside those of the whole model.
All translations are found greedily.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from lessonkit.analysis.activations import Activations, source_token_ids, transformer_of_translator
from lessonkit.analysis.heads import Head, all_heads
from lessonkit.analysis.interventions import (
    AttentionEdge,
    SourceMaskedModel,
    VectorsByPosition,
    ablate_edges,
    patch_heads,
)
from transformer.config import BOS_ID, EOS_ID
from transformer.decoding import greedy_search
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.signatures import check_argument_types


class AblationSpec(NamedTuple):
    """What is taken away; several things may be."""

    before: Collection[
        int
    ] = ()  # source positions hidden before the encoder (see `SourceMaskedModel`)
    after: Collection[int] = ()  # source positions hidden after the encoder
    edges: Mapping[Head, Collection[AttentionEdge]] = {}  # see `ablate_edges`
    heads: Mapping[
        Head, Tensor | VectorsByPosition
    ] = {}  # what stands in their place: `patch_heads`


class AblatedTranslation(NamedTuple):
    """A sentence's translation by a model of which something may have been taken away."""

    ids: list[int]  # of the translation, `EOS_ID` last if it ended of itself
    # Of every type after each prefix of the *whole* model's translation:
    probabilities: Tensor  # (its tokens, tgt_vocab_size)


class AblationStudy:
    """A sentence's translation by a Transformer, and what is left of it after an ablation.

    Attributes:
        baseline: The translation with nothing taken away.
        src_tokens: The source's tokens, "<eos>" last.
        tgt_tokens: Those of the whole model's translation.
    """

    def __init__(self, translator: Translator, sentence: str) -> None:
        self.translator = translator
        self.model = transformer_of_translator(translator)
        self._src = source_token_ids(translator, sentence)
        ids = self._translate_greedily(self.model)
        self._tgt_in = torch.tensor([[BOS_ID, *ids[:-1]]], device=self._src.device)
        self.baseline = AblatedTranslation(ids, self._next_token_probabilities(self.model))
        self.src_tokens = translator.src_tokenizer.ids_to_pieces(self._src[0].tolist())
        self.tgt_tokens = translator.tgt_tokenizer.ids_to_pieces(ids)

    def translate_sentence_without(self, ablation: AblationSpec) -> AblatedTranslation:
        """Translate with something taken away; raise a UserError if it cannot be."""
        model = SourceMaskedModel(self.model, ablation.before, ablation.after)
        with patch_heads(self.model, ablation.heads), ablate_edges(self.model, ablation.edges):
            probabilities = self._next_token_probabilities(model)
            # If every step still prefers the baseline's token, a search would find the baseline.
            if probabilities.argmax(-1).tolist() == self.baseline.ids:
                return AblatedTranslation(self.baseline.ids, probabilities)
            return AblatedTranslation(self._translate_greedily(model), probabilities)

    def translation_text(self, translation: AblatedTranslation) -> str:
        """Return a translation as plain text."""
        ids = [token for token in translation.ids if token != EOS_ID]
        return self.translator.tgt_tokenizer.decode(ids)

    def _translate_greedily(self, model: Transformer | SourceMaskedModel) -> list[int]:
        (best,) = greedy_search(model, self._src)
        return [*best.ids, EOS_ID] if best.finished else list(best.ids)

    @torch.inference_mode()
    def _next_token_probabilities(self, model: Transformer | SourceMaskedModel) -> Tensor:
        src_mask = padding_mask(self._src)
        memory = model.encode(self._src, src_mask)
        return model.decode(self._tgt_in, memory, src_mask)[0].softmax(dim=-1)


SOURCE_HIDDEN_BEFORE_ENCODER = "a place, before the encoder"
SOURCE_AFTER_ENCODER_KIND = "a place, after the encoder"
EDGE_KIND_BY_STACK = {
    "encoder": "an edge of the encoder",
    "cross": "an edge of cross-attention",
    "decoder": "an edge of the decoder",
}
ZERO_HEAD_KIND, MEAN_HEAD_KIND = "a head, by zero", "a head, by its mean"
PATCHED_HEAD_ABLATION_KIND = "a head, swapped"


class LabelledAblationSpec(NamedTuple):
    """An ablation, and where it stands among all that a study can make."""

    kind: str  # one of the constants above
    target: str  # which position, edge or head: "3", "2-3" (query and key), "encoder 1.2"
    ablation: AblationSpec


def source_ablation_specs(study: AblationStudy) -> Iterator[LabelledAblationSpec]:
    """Yield two ablations of each source position: hidden before and hidden after the encoder."""
    for position in range(len(study.src_tokens)):
        yield LabelledAblationSpec(
            SOURCE_HIDDEN_BEFORE_ENCODER, str(position), AblationSpec(before=[position])
        )
        yield LabelledAblationSpec(
            SOURCE_AFTER_ENCODER_KIND, str(position), AblationSpec(after=[position])
        )


def edge_ablation_specs(study: AblationStudy) -> Iterator[LabelledAblationSpec]:
    """Yield an ablation of each edge of each stack, in all heads of all its layers.

    The decoder's first row sees nothing but "<bos>" and keeps it.
    """
    src_len, tgt_len = len(study.src_tokens), len(study.tgt_tokens)
    queries = {"encoder": src_len, "cross": tgt_len, "decoder": tgt_len}
    for stack, kind in EDGE_KIND_BY_STACK.items():
        heads = [head for head in all_heads(study.model) if head.stack == stack]
        for query in range(queries[stack]):
            keys = range(src_len)
            if stack == "decoder":
                keys = range(query + 1) if query else range(0)
            for key in keys:
                edges = {head: [(query, key)] for head in heads}
                yield LabelledAblationSpec(kind, f"{query}-{key}", AblationSpec(edges=edges))


def head_ablation_specs(
    study: AblationStudy, means: Mapping[Head, Tensor], other: Activations
) -> Iterator[LabelledAblationSpec]:
    """Yield the ablations of each head: by zero, by its mean, and patched from another sentence.

    The means are from `mean_head_outputs`; the other sentence's outputs are put at every position
    that both sentences have.
    """
    for head, mean in means.items():
        name = str(head)
        yield LabelledAblationSpec(
            ZERO_HEAD_KIND, name, AblationSpec(heads={head: torch.zeros_like(mean)})
        )
        yield LabelledAblationSpec(MEAN_HEAD_KIND, name, AblationSpec(heads={head: mean}))
        common = len(study.src_tokens) if head.stack == "encoder" else None
        vectors = dict(enumerate(other.heads[head][:common]))
        yield LabelledAblationSpec(
            PATCHED_HEAD_ABLATION_KIND, name, AblationSpec(heads={head: vectors})
        )


@check_argument_types
def translate_without_each_head(
    translator: Translator, sentence: str, means: Mapping[Head, Tensor]
) -> dict[str, dict[Head, str]]:
    """Translate a sentence greedily without each head in turn.

    Args:
        translator, sentence: A Transformer, and plain text.
        means: From `mean_head_outputs`.

    Returns:
        Under "by zero" and "by its mean" the translation for each head.
    """
    study = AblationStudy(translator, sentence)
    translations: dict[str, dict[Head, str]] = {"by zero": {}, "by its mean": {}}
    for head, mean in means.items():
        for way, vector in (("by zero", torch.zeros_like(mean)), ("by its mean", mean)):
            ablated = study.translate_sentence_without(AblationSpec(heads={head: vector}))
            translations[way][head] = study.translation_text(ablated)
    return translations
