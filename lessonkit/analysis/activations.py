"""What a Transformer computes of one sentence: activations, and the next token's probabilities.

Not in the paper. Activations can be put into another sentence's run (`interventions.patch_heads`,
`interventions.patch_memory`), and their means in a head's place.
"""

from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from lessonkit.analysis.heads import Head, all_heads
from lessonkit.analysis.interventions import SourceMaskedModel, hook_heads
from transformer.config import BOS_ID
from transformer.data.batches import collate_sources
from transformer.decoding import greedy_search
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.checks import check_has_items
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types


def source_token_ids(translator: Translator, sentence: str) -> Tensor:
    """Return a sentence's ids with its end mark, (1, src_len); a blank one is a UserError."""
    if translator.src_tokenizer.is_blank(sentence):
        raise UserError("an empty sentence has nothing to take away: give some words")
    ids = translator.src_tokenizer.encode(sentence)
    return collate_sources([ids]).to(translator.device)


def transformer_of_translator(translator: Translator) -> Transformer:
    """Return a translator's network; raise a UserError unless it is a Transformer."""
    if not isinstance(translator.model, Transformer):
        kind = type(translator.model).__name__
        raise UserError(
            f"a {kind} is no Transformer with encoder, decoder and heads: give a model that is"
        )
    return translator.model


@torch.inference_mode()
@check_argument_types
def next_token_probabilities(
    translator: Translator,
    sentence: str,
    prefix: Sequence[int] = (),
    before: Collection[int] = (),
    after: Collection[int] = (),
) -> Tensor:
    """Return the probability of every type as the next token, (tgt_vocab_size,).

    Args:
        translator, sentence: A Transformer, and plain text.
        prefix: Ids of the translation so far, without "<bos>".
        before, after: Source positions that are hidden (see `SourceMaskedModel`).
    """
    src = source_token_ids(translator, sentence)
    src_mask = padding_mask(src)
    model = SourceMaskedModel(transformer_of_translator(translator), before, after)
    tgt_in = torch.tensor([[BOS_ID, *prefix]], device=src.device)
    memory = model.encode(src, src_mask)
    return model.decode(tgt_in, memory, src_mask)[0, -1].softmax(dim=-1)


class Activations(NamedTuple):
    """What a model computed while it read one sentence and its translation.

    Heads' outputs are those before the output projection, (length, d_v): a row for each source
    token in the encoder, and for "<bos>" and each target token in the others.
    """

    tgt_ids: list[int]  # the translation, without "<bos>" and "<eos>"
    memory: Tensor  # the encoder's output, (src_len, d_model)
    heads: dict[Head, Tensor]


@torch.inference_mode()
def record_activations(
    translator: Translator, sentence: str, tgt_ids: Sequence[int] | None = None
) -> Activations:
    """Run a model over a sentence and return what it computed.

    The decoder reads the ids of a translation, or the model's own, found greedily.
    """
    model = transformer_of_translator(translator)
    src = source_token_ids(translator, sentence)
    ids = greedy_search(model, src)[0].ids if tgt_ids is None else list(tgt_ids)
    head_outputs: dict[Head, Tensor] = {}

    def record(head: Head, outputs: Tensor, _: int) -> None:
        head_outputs[head] = outputs[0]

    src_mask = padding_mask(src)
    with hook_heads(model, {head: partial(record, head) for head in all_heads(model)}):
        memory = model.encode(src, src_mask)
        model.decode(torch.tensor([[BOS_ID, *ids]], device=src.device), memory, src_mask)
    return Activations(ids, memory[0], head_outputs)


@check_argument_types
def mean_head_outputs(translator: Translator, sentences: Sequence[str]) -> dict[Head, Tensor]:
    """Return each head's mean output over every token of some sentences and their translations.

    They are translated greedily. A head's mean is a vector (d_v,), to put in the head's place.
    """
    check_has_items("sentences", sentences)
    runs = [record_activations(translator, sentence).heads for sentence in sentences]
    return {head: torch.cat([run[head] for run in runs]).mean(0) for head in runs[0]}
