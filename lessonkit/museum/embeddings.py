"""Faults in how words become vectors, and vectors words (§3.4)."""

import copy
from typing import Any

from torch import Tensor, nn

from attention_laws.adapter import Adapter
from lessonkit.museum.sound import Setup
from lessonkit.museum.specimen import Specimen, turned
from transformer.embeddings import Embedding
from transformer.masks import padding_mask
from transformer.model import Transformer

MANY_TYPES = {"src_vocab_size": 2003, "tgt_vocab_size": 2003, "tie_source_target": True}


class Unscaled(Embedding):
    """Leaves out the root of the width: words are small beside their positions."""

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """Add words and positions as they are."""
        positions = self.position_table()[start : start + ids.shape[1]]
        return self.dropout(self.token(ids) + positions)


class OtherPadding(Transformer):
    """Takes another id for padding than the batches do."""

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Look for the id 1 where sentences are filled up with 0."""
        src_mask = padding_mask(src, pad_id=1)
        return self.decode(tgt_in, self.encode(src, src_mask), src_mask)


def draw_large(model: Transformer) -> None:
    """Draw words with the library's standard deviation of 1, and scale them as before."""
    for embedding in (model.src_embedding, model.tgt_embedding):
        nn.init.normal_(embedding.token.weight)


def draw_small(model: Transformer) -> None:
    """Draw words as matrices are drawn: the more types there are, the smaller."""
    for embedding in (model.src_embedding, model.tgt_embedding):
        nn.init.xavier_uniform_(embedding.token.weight)


class TiedByCopy(Setup):
    """Says that softmax and embedding are one matrix; they only began as equal ones."""

    def adapter(self) -> Adapter:
        """Declare what is not so."""
        names = ("output.weight", "tgt_embedding.token.weight")
        return super().adapter().replace(declared_tied=(names,))


def copy_softmax(model: Transformer) -> None:
    """Begin the softmax with the embedding's values, in a matrix of its own."""
    model.output.weight = nn.Parameter(copy.deepcopy(model.tgt_embedding.token.weight.data))


def draw_softmax_anew(model: Transformer) -> None:
    """Replace the softmax after it was tied, for another size or another start."""
    model.output = nn.Linear(model.config.d_model, model.output.out_features, bias=False)


def _specimen(name: str, about: str, **rest: Any) -> Specimen:
    return Specimen(name=name, about=about, group="embeddings", **rest)


SPECIMENS = (
    _specimen(
        "embedding_unscaled",
        "words are not multiplied by the root of the width",
        alter=turned(Embedding, Unscaled),
    ),
    _specimen(
        "embedding_small",
        "words are drawn as matrices are (Xavier), small where there are many types",
        alter=draw_small,
        config=MANY_TYPES,
        trains=True,
    ),
    _specimen(
        "embedding_large",
        "words are drawn with standard deviation 1 and multiplied by the root of the width: "
        "the loss begins far above ln V",
        alter=draw_large,
        trains=True,
    ),
    _specimen(
        "softmax_tied_by_copy",
        "the softmax is given a copy of the embedding, not the embedding",
        alter=copy_softmax,
        setup=TiedByCopy,
    ),
    _specimen(
        "tying_quoted_not_done",
        "softmax and embedding are said to be one matrix, and are two",
        alter=draw_softmax_anew,
        setup=TiedByCopy,
        source="annotated",
    ),
    _specimen(
        "padding_of_another_id",
        "masks look for another id than the one that batches are filled up with",
        alter=turned(Transformer, OtherPadding),
        source="annotated (the id of the other side's vocabulary, right by luck)",
    ),
)
