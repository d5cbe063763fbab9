"""Taking away: hide places of the source, put a head's mean in its place (§3.2.3, §3.2.2).

Not in the paper. An attention map shows where a model looked. What it needed is told by what
changes when that is taken away, beside a control: another place, another head.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor

from lessonkit.analysis.heads import STACKS, Head, all_heads, attention_of
from lessonkit.analysis.hooks import network_of, source_of
from lessonkit.analysis.patching import run_of
from transformer.config import BOS_ID
from transformer.decoding import greedy_search
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError


class Hiding:
    """A model some of whose source places cannot be attended to, for any search.

    A place hidden before the encoder is seen by no other place of the source, and not by the
    decoder. Hidden after it, the encoder has read it and may have told its neighbours; only
    the decoder's cross-attention cannot look there.

    Args:
        model: Any Transformer; it is not changed.
        before: Places of the source, from 0, hidden before the encoder.
        after: Places hidden after it.
    """

    def __init__(
        self, model: Transformer, before: Collection[int] = (), after: Collection[int] = ()
    ) -> None:
        self.model = model
        self.before = frozenset(before)
        self.after = frozenset(after) | self.before

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Encode without the places that are hidden before the encoder."""
        return self.model.encode(src, _without(src_mask, self.before))

    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: Any = None) -> Tensor:
        """Decode without the places that are hidden."""
        return self.model.decode(tgt_in, memory, _without(src_mask, self.after), cache)

    def new_cache(self) -> Any:
        """Give the model's own empty cache."""
        return self.model.new_cache()


def _without(mask: Tensor, hidden: Collection[int]) -> Tensor:
    """Close places of a source mask, (batch, 1, 1, src_len)."""
    closed = torch.zeros(mask.shape[-1], dtype=torch.bool, device=mask.device)
    for place in hidden:
        if not 0 <= place < len(closed):
            raise UserError(
                f"no place {place} to hide: the source has {len(closed)} tokens, counted from 0"
            )
        closed[place] = True
    mask = mask & ~closed
    if not mask.any(dim=-1).all():
        raise UserError("every place is hidden: leave one that can be attended to")
    return mask


def translate_hiding(
    translator: Translator,
    sentence: str,
    before: Collection[int] = (),
    after: Collection[int] = (),
) -> str:
    """Translate a sentence, greedily, with some places of the source hidden.

    Args:
        translator: The model and its tokenizers.
        sentence: Plain text.
        before, after: Places (see `Hiding`), counted over the source's tokens and its "<eos>".

    Raises:
        UserError: a place is not in the sentence, or all are hidden.
    """
    src = source_of(translator, sentence)
    (said,) = greedy_search(Hiding(network_of(translator), before, after), src)
    return translator.tgt_tokenizer.decode(said.ids)


@torch.inference_mode()
def next_token(
    translator: Translator,
    sentence: str,
    said: Sequence[int] = (),
    before: Collection[int] = (),
    after: Collection[int] = (),
) -> Tensor:
    """Give the probability of every type as the next token, with some places hidden.

    Args:
        translator: The model and its tokenizers.
        sentence: Plain text.
        said: Ids of the translation so far, without "<bos>".
        before, after: Places (see `Hiding`).

    Returns:
        (tgt_vocab_size,), summing to 1.

    Raises:
        UserError: a place is not in the sentence, or all are hidden.
    """
    src = source_of(translator, sentence)
    hiding, src_mask = Hiding(network_of(translator), before, after), padding_mask(src)
    tgt_in = torch.tensor([[BOS_ID, *said]], device=src.device)
    return hiding.decode(tgt_in, hiding.encode(src, src_mask), src_mask)[0, -1].softmax(dim=-1)


def mean_outputs(translator: Translator, sentences: Sequence[str]) -> dict[Head, Tensor]:
    """Give each head's mean output over every token of some sentences and their translations.

    Args:
        translator: The model, which translates the sentences greedily.
        sentences: Plain text, none empty.

    Returns:
        For each head a vector (d_v,), to put in the head's place.

    Raises:
        UserError: there are no sentences, or the network is no Transformer.
    """
    if not sentences:
        raise UserError("no sentences to take the means over: give at least one")
    model = network_of(translator)
    heads = all_heads(model)
    sums = {head: torch.zeros(model.config.value_size, device=translator.device) for head in heads}
    counts = dict.fromkeys(STACKS, 0)
    for sentence in sentences:
        for head, outputs in run_of(translator, sentence).heads.items():
            sums[head] += outputs.sum(0)
            counts[head.stack] += len(outputs) if (head.layer, head.head) == (1, 1) else 0
    return {head: total / counts[head.stack] for head, total in sums.items()}


@contextmanager
def heads_replaced(model: Transformer, outputs: Mapping[Head, Tensor]) -> Iterator[Transformer]:
    """Run a model some of whose heads give one and the same vector, whatever they see.

    With the head's mean (see `mean_outputs`) what the rest of the network expects on average
    still comes; with zeros that is missing too, and the cost may be of the surprise alone.

    Args:
        model: Changed in place inside the `with` block.
        outputs: For each head to replace a vector (d_v,).

    Raises:
        UserError: the model has no such head, or a vector has another length.
    """
    d_v = model.config.value_size
    with ExitStack() as hooks:
        for head, vector in outputs.items():
            if tuple(vector.shape) != (d_v,):
                raise UserError(
                    f"{head} is given a vector of shape {tuple(vector.shape)}, not ({d_v},)"
                )
            projection = attention_of(model, head).output_projection
            hooks.enter_context(projection.register_forward_pre_hook(_putting(head, vector)))
        yield model


def _putting(head: Head, vector: Tensor) -> Any:
    """Make a hook that writes a vector over a head's outputs before they are joined."""
    part = head.part(len(vector))

    def put(_: torch.nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        joined = inputs[0].clone()  # (batch, length, num_heads * d_v)
        joined[..., part] = vector
        return (joined,)

    return put
