"""One cut at a time, and what comes of it: the new translation, the next token's probabilities.

Not in the paper. A cut takes away a place of the source, an edge of attention or a head; what
the model says then stands beside what it says with everything (all found greedily).
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from lessonkit.analysis.heads import Head, all_heads
from lessonkit.analysis.interventions import (
    Edge,
    Hiding,
    Places,
    Run,
    edges_cut,
    heads_replaced,
    network_of,
    source_of,
)
from transformer.config import BOS_ID, EOS_ID
from transformer.decoding import greedy_search
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator


class Cut(NamedTuple):
    """What is taken away; several things may be."""

    before: Collection[int] = ()  # places of the source hidden before the encoder (see `Hiding`)
    after: Collection[int] = ()  # and after it
    edges: Mapping[Head, Collection[Edge]] = {}  # see `edges_cut`
    heads: Mapping[Head, Tensor | Places] = {}  # what they give instead (see `heads_replaced`)


class Outcome(NamedTuple):
    """What a model says with a cut."""

    said: list[int]  # ids of its translation, `EOS_ID` last where it ended of itself
    # Of every type after each beginning of the *whole* model's translation:
    chances: Tensor  # (its tokens, tgt_vocab_size)


class Knife:
    """A sentence, what a Transformer makes of it, and what is left of that after a cut.

    Attributes:
        whole: What the model says with nothing taken away.
        src_tokens: The source's tokens, "<eos>" last.
        tgt_tokens: Those of the whole model's translation.
    """

    def __init__(self, translator: Translator, sentence: str) -> None:
        self.translator = translator
        self.model = network_of(translator)
        self._src = source_of(translator, sentence)
        said = self._search(self.model)
        self._read = torch.tensor([[BOS_ID, *said[:-1]]], device=self._src.device)
        self.whole = Outcome(said, self._chances(self.model))
        self.src_tokens = translator.src_tokenizer.pieces(self._src[0].tolist())
        self.tgt_tokens = translator.tgt_tokenizer.pieces(said)

    def cut(self, cut: Cut) -> Outcome:
        """Say what is left of the translation; a UserError where the cut cannot be made."""
        model = Hiding(self.model, cut.before, cut.after)
        with heads_replaced(self.model, cut.heads), edges_cut(self.model, cut.edges):
            chances = self._chances(model)
            if chances.argmax(-1).tolist() == self.whole.said:
                return Outcome(self.whole.said, chances)  # each step of the search would be so
            return Outcome(self._search(model), chances)

    def text(self, outcome: Outcome) -> str:
        """Give an outcome's translation as plain text."""
        return self.translator.tgt_tokenizer.decode(
            [token for token in outcome.said if token != EOS_ID]
        )

    def _search(self, model: Transformer | Hiding) -> list[int]:
        (best,) = greedy_search(model, self._src)
        return [*best.ids, EOS_ID] if best.finished else list(best.ids)

    @torch.inference_mode()
    def _chances(self, model: Transformer | Hiding) -> Tensor:
        src_mask = padding_mask(self._src)
        memory = model.encode(self._src, src_mask)
        return model.decode(self._read, memory, src_mask)[0].softmax(dim=-1)


PLACE_BEFORE, PLACE_AFTER = "a place, before the encoder", "a place, after the encoder"
EDGES = {
    "encoder": "an edge of the encoder",
    "cross": "an edge of cross-attention",
    "decoder": "an edge of the decoder",
}
ZERO, MEAN, SWAP = "a head, by zero", "a head, by its mean", "a head, swapped"

NamedCut = tuple[str, str, Cut]  # what is cut, which one of these, and the cut itself


def places_hidden(knife: Knife) -> Iterator[NamedCut]:
    """Give a cut for each place of the source, hidden before and hidden after the encoder."""
    for place in range(len(knife.src_tokens)):
        yield PLACE_BEFORE, str(place), Cut(before=[place])
        yield PLACE_AFTER, str(place), Cut(after=[place])


def edges_each(knife: Knife) -> Iterator[NamedCut]:
    """Give a cut for each edge of each stack, in all heads of all its layers.

    Which edge is "query-key". The decoder's first row sees nothing but "<bos>" and keeps it.
    """
    src_len, tgt_len = len(knife.src_tokens), len(knife.tgt_tokens)
    for stack, what in EDGES.items():
        heads = [head for head in all_heads(knife.model) if head.stack == stack]
        for query in range(src_len if stack == "encoder" else tgt_len):
            first_seen = range(query + 1) if query else ()
            for key in first_seen if stack == "decoder" else range(src_len):
                yield what, f"{query}-{key}", Cut(edges={head: [(query, key)] for head in heads})


def heads_each(knife: Knife, means: Mapping[Head, Tensor], other: Run) -> Iterator[NamedCut]:
    """Give the cuts of each head: by zero, by its mean, and swapped with another sentence's.

    The means are from `mean_outputs`; the outputs of the other run are put at every place that both
    sentences have.
    """
    for head, mean in means.items():
        yield ZERO, str(head), Cut(heads={head: torch.zeros_like(mean)})
        yield MEAN, str(head), Cut(heads={head: mean})
        both = len(knife.src_tokens) if head.stack == "encoder" else None
        places = dict(enumerate(other.heads[head][:both]))
        yield SWAP, str(head), Cut(heads={head: places})


def translations_without(
    translator: Translator, sentence: str, means: Mapping[Head, Tensor]
) -> dict[str, dict[Head, str]]:
    """Translate a sentence greedily without each head in turn, "by zero" and "by its mean".

    The means are from `mean_outputs`.
    """
    knife = Knife(translator, sentence)
    ways = {"by zero": {h: torch.zeros_like(m) for h, m in means.items()}, "by its mean": means}
    return {
        way: {h: knife.text(knife.cut(Cut(heads={h: each}))) for h, each in outputs.items()}
        for way, outputs in ways.items()
    }
