"""Ablation and activation patching, for the time of a `with` block (§3.2.2, §3.2.3).

Not in the paper. An attention map shows where a model looked. What it needed is told by what
changes when that is taken away (ablation), what it used by what changes when another sentence's
vector stands in its place (activation patching); both beside a control. A model is reached in three
places: a head's output before it is joined to the others (`patch_heads`, `ablate_heads`), what a
query may see (`ablate_edges`, `SourceMaskedModel`), and the encoder's output (`patch_memory`). Any
search works inside the block, with a cache and without.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from lessonkit.analysis.heads import Head, attention_module
from transformer.attention import MultiHeadAttention
from transformer.decoding import EncoderDecoder, make_empty_cache
from transformer.model import Decoder, Transformer
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

AttentionEdge = tuple[int, int]  # (query, key), positions from 0
VectorsByPosition = Mapping[int, Tensor]  # a vector for each of some positions, from 0
_DECODER_SIGNATURE = signature(Decoder.forward)
_ATTENTION_SIGNATURE = signature(MultiHeadAttention.forward)


def _check_source_position(position: int, length: int) -> None:
    if not 0 <= position < length:
        raise UserError(f"no place {position}: the source has {length} tokens, counted from 0")


@contextmanager
def _tracking_decoder_start_position(model: Transformer) -> Iterator[Callable[[], int]]:
    """Yield a function that returns the target position at which the decoder's call begins.

    With a cache the decoder reads the target in parts, so that it is not always 0.
    """
    offset = 0

    def remember_offset(decoder: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        nonlocal offset
        cache = _DECODER_SIGNATURE.bind(decoder, *args, **kwargs).arguments.get("cache")
        offset = 0 if cache is None else cache.length

    with model.decoder.register_forward_pre_hook(remember_offset, with_kwargs=True):
        yield lambda: offset


@contextmanager
def hook_heads(
    model: Transformer, hooks: Mapping[Head, Callable[[Tensor, int], None]]
) -> Iterator[Transformer]:
    """Call a hook with each head's outputs (batch, length, d_v) and the position of the first.

    What a hook writes over them goes on to the output projection. A head that the model does not
    have is a UserError.
    """

    def call_hook(head: Head, _: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        joined = inputs[0].clone()  # (batch, length, num_heads * d_v)
        offset = 0 if head.stack == "encoder" else target_offset()
        hooks[head](joined[..., head.output_columns(model.config.value_size)], offset)
        return (joined,)

    with ExitStack() as handles:
        target_offset = handles.enter_context(_tracking_decoder_start_position(model))
        for head in hooks:
            projection = attention_module(model, head).output_projection
            handles.enter_context(projection.register_forward_pre_hook(partial(call_hook, head)))
        yield model


@contextmanager
@check_argument_types
def patch_heads(
    model: Transformer, outputs: Mapping[Head, Tensor | VectorsByPosition]
) -> Iterator[Transformer]:
    """Run a model with other vectors in place of some heads' outputs.

    Vectors of another sentence's run make it activation patching (see `record_activations`).
    A head's mean (see `mean_head_outputs`) ablates it, while what the rest of the network expects
    on average still comes; with zeros that is missing too, and the cost may be of the surprise
    alone. A head or position that is not there is a UserError.

    A head's vector (d_v,) is for all positions, or there is one for each of some: position i of the
    decoder's stacks is reached when the target's token i ("<bos>" is 0) is read.
    """

    def patch(head: Head, head_outputs: Tensor, offset: int) -> None:
        replacement, length = outputs[head], head_outputs.shape[1]
        if isinstance(replacement, Tensor):
            head_outputs[:] = replacement
            return
        for position, vector in replacement.items():
            if head.stack == "encoder":
                _check_source_position(position, length)
            if offset <= position < offset + length:
                head_outputs[:, position - offset] = vector

    with hook_heads(model, {head: partial(patch, head) for head in outputs}):
        yield model


@contextmanager
def patch_memory(model: Transformer, vectors: VectorsByPosition) -> Iterator[Transformer]:
    """Run a model with other vectors, (d_model,), at some positions of the encoder's output.

    A position that is not there is a UserError.
    """

    def patch(_: nn.Module, __: Any, output: tuple[Any, ...]) -> tuple[Any, ...]:
        memory = output[0].clone()  # (batch, src_len, d_model)
        for position, vector in vectors.items():
            _check_source_position(position, memory.shape[1])
            memory[:, position] = vector
        return memory, *output[1:]

    with model.encoder.register_forward_hook(patch):
        yield model


@check_argument_types
def ablate_heads(
    model: Transformer, removed: Collection[Head]
) -> AbstractContextManager[Transformer]:
    """Run a model with zeros in place of some heads' outputs, as Michel et al. 2019 do (§3.2.2)."""
    return patch_heads(model, dict.fromkeys(removed, torch.zeros(model.config.value_size)))


@contextmanager
def ablate_edges(
    model: Transformer, edges: Mapping[Head, Collection[AttentionEdge]]
) -> Iterator[Transformer]:
    """Run a model some of whose heads may not look from one position to another.

    Geva et al. 2023 call it attention knockout. The weight that the query gave to the key goes to
    the keys that are left: a row still sums to 1. Query i of the decoder's stacks has read the
    target's token i, "<bos>" being 0, and predicts the next. A query that would have no key left is
    a UserError.
    """

    def close_edges(
        head: Head, attention: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        call = _ATTENTION_SIGNATURE.bind(attention, *args, **kwargs)
        query, memory = call.arguments["query"], call.arguments.get("memory")
        offset = 0 if head.stack == "encoder" else target_offset()
        q_len = query.shape[1]
        k_len = offset + q_len if memory is None else memory.shape[1]
        allowed = torch.ones(model.config.num_heads, q_len, k_len, dtype=torch.bool)
        for query_position, key_position in edges[head]:
            if offset <= query_position < offset + q_len:
                allowed[head.head - 1, query_position - offset, key_position] = False
        allowed = allowed.to(query.device)
        mask = call.arguments.get("mask")
        mask = allowed[None] if mask is None else mask & allowed
        if not mask.any(dim=-1).all():
            raise UserError("a query has no key left: leave one that it can attend to")
        call.arguments["mask"] = mask
        return call.args[1:], call.kwargs

    with ExitStack() as handles:
        target_offset = handles.enter_context(_tracking_decoder_start_position(model))
        for head in edges:
            attention = attention_module(model, head)
            handles.enter_context(
                attention.register_forward_pre_hook(partial(close_edges, head), with_kwargs=True)
            )
        yield model


class SourceMaskedModel:
    """A model some of whose source positions cannot be attended to, for any search.

    A position hidden before the encoder is seen by no other position of the source, and not by the
    decoder. Hidden after it, the encoder has read it and may have told its neighbours; only the
    decoder's cross-attention cannot look there. Positions count from 0; the model is not changed.
    """

    @check_argument_types
    def __init__(
        self, model: EncoderDecoder, before: Collection[int] = (), after: Collection[int] = ()
    ) -> None:
        self.model = model
        self.before = frozenset(before)
        self.after = frozenset(after) | self.before

    @check_argument_types
    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Encode without the positions that are hidden before the encoder."""
        return self.model.encode(src, _mask_out_positions(src_mask, self.before))

    @check_argument_types
    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: Any = None) -> Tensor:
        """Decode without the positions that are hidden."""
        given_cache = () if cache is None else (cache,)
        src_mask = _mask_out_positions(src_mask, self.after)
        return self.model.decode(tgt_in, memory, src_mask, *given_cache)

    def new_cache(self) -> Any:
        """Return the model's own empty cache."""
        return make_empty_cache(self.model)


def _mask_out_positions(mask: Tensor, hidden: Collection[int]) -> Tensor:
    """Return a source mask, (batch, 1, 1, src_len), with some positions closed."""
    mask = mask.clone()
    for position in hidden:
        _check_source_position(position, mask.shape[-1])
        mask[..., position] = False
    if not mask.any(dim=-1).all():
        raise UserError("every place is hidden: leave one that can be attended to")
    return mask
