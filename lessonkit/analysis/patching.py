"""Carrying over: a vector of another sentence's run put in the same place of this one.

Not in the paper. Taking away tells what was needed; putting in tells where a fact stands. If
one vector of *the saleswoman* in the run of *the salesman* makes *Le* to *La*, it held the gender.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lessonkit.analysis.heads import Head, all_heads, attention_of
from lessonkit.analysis.hooks import network_of, source_of, target_start
from transformer.config import BOS_ID
from transformer.decoding import greedy_search
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

Places = Mapping[int, Tensor]  # a vector for each of some places, from 0


class Run(NamedTuple):
    """What a model computed while it read one sentence and its translation.

    Attributes:
        said: Ids of the translation, without "<bos>" and "<eos>".
        memory: The encoder's output, (src_len, d_model).
        heads: Each head's outputs before the output projection, (length, d_v): a row for each
            source token in the encoder, and for "<bos>" and each of `said` in the others.
    """

    said: list[int]
    memory: Tensor
    heads: dict[Head, Tensor]


@torch.inference_mode()
def run_of(translator: Translator, sentence: str, said: Sequence[int] | None = None) -> Run:
    """Run a model over a sentence, and keep what it computed.

    Args:
        translator: The model.
        sentence: Plain text.
        said: What the decoder reads; None means the model's own translation, found greedily.

    Raises:
        UserError: the sentence is blank, or the network is no Transformer.
    """
    model, src = network_of(translator), source_of(translator, sentence)
    ids = greedy_search(model, src)[0].ids if said is None else list(said)
    joined: dict[tuple[str, int], Tensor] = {}
    with ExitStack() as hooks:
        for head in all_heads(model):
            if head.head == 1:
                projection = attention_of(model, head).output_projection
                keep = _keeping(joined, (head.stack, head.layer))
                hooks.enter_context(projection.register_forward_pre_hook(keep))
        src_mask = padding_mask(src)
        memory = model.encode(src, src_mask)
        model.decode(torch.tensor([[BOS_ID, *ids]], device=src.device), memory, src_mask)
    d_v = model.config.value_size
    parts = {h: joined[h.stack, h.layer][0, :, h.part(d_v)] for h in all_heads(model)}
    return Run(ids, memory[0], parts)


def _keeping(kept: dict[Any, Tensor], key: Any) -> Callable[..., None]:
    """Make a hook that keeps what goes into a module."""

    def keep(_: torch.nn.Module, inputs: tuple[Tensor, ...]) -> None:
        kept[key] = inputs[0]

    return keep


@contextmanager
def patched(
    model: Transformer,
    memory: Places | None = None,
    heads: Mapping[Head, Places] | None = None,
) -> Iterator[Transformer]:
    """Run a model with some vectors in some places, whatever it would compute there.

    Any search does: place i of the decoder's stacks is reached when the target's token i
    ("<bos>" is 0) is read.

    Args:
        model: Changed in place inside the `with` block.
        memory: For places of the source a vector (d_model,), put in the encoder's output.
        heads: For each head, for some places, a vector (d_v,), put before the output
            projection (see `Run.heads`).

    Raises:
        UserError: the model has no such head, a vector has another length, or (inside the
            block, when the model runs) the source has no such place.
    """
    d_model, d_v = model.config.d_model, model.config.value_size
    memory, heads = memory or {}, heads or {}
    _check_widths("the encoder's output", memory, d_model)
    with ExitStack() as hooks:
        start = hooks.enter_context(target_start(model))
        for head, places in heads.items():
            _check_widths(str(head), places, d_v)
            projection = attention_of(model, head).output_projection
            put = _putting_at(head, places, start, d_v)
            hooks.enter_context(projection.register_forward_pre_hook(put))
        if memory:
            hooks.enter_context(model.encoder.register_forward_hook(_putting_in_memory(memory)))
        yield model


def swapped_in(run: Run, heads: Sequence[Head], src_len: int) -> dict[Head, dict[int, Tensor]]:
    """Give whole heads of another run, for `patched`: at every place that both sentences have.

    Args:
        run: Of the other sentence.
        heads: Which.
        src_len: Tokens of this sentence, its end mark included.
    """
    return {
        head: {
            place: vector
            for place, vector in enumerate(run.heads[head])
            if head.stack != "encoder" or place < src_len
        }
        for head in heads
    }


def _check_widths(what: str, places: Places, width: int) -> None:
    for place, vector in places.items():
        if tuple(vector.shape) != (width,):
            raise UserError(
                f"{what} is given a vector of shape {tuple(vector.shape)} at place {place}, "
                f"not ({width},)"
            )


def _check_place(place: int, length: int) -> None:
    if not 0 <= place < length:
        raise UserError(f"no place {place}: the source has {length} tokens, counted from 0")


def _putting_at(
    head: Head, places: Places, start: Callable[[], int], d_v: int
) -> Callable[..., tuple[Tensor]]:
    """Make a hook that writes vectors over a head's outputs at some places."""
    part = head.part(d_v)

    def put(_: torch.nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        joined = inputs[0].clone()  # (batch, length, num_heads * d_v)
        begun, length = (0 if head.stack == "encoder" else start()), joined.shape[1]
        for place, vector in places.items():
            if head.stack == "encoder":
                _check_place(place, length)
            if begun <= place < begun + length:
                joined[:, place - begun, part] = vector
        return (joined,)

    return put


def _putting_in_memory(memory: Places) -> Callable[..., tuple[Tensor, Any]]:
    """Make a hook that writes vectors over the encoder's output."""

    def put(_: torch.nn.Module, __: Any, output: tuple[Tensor, Any]) -> tuple[Tensor, Any]:
        hidden = output[0].clone()  # (batch, src_len, d_model)
        for place, vector in memory.items():
            _check_place(place, hidden.shape[1])
            hidden[:, place] = vector
        return hidden, output[1]

    return put
