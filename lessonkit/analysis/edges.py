"""Cutting an edge: one query may not see one key, in named heads (§3.2.2).

Not in the paper. A head is many edges; the one that seems to matter can be cut alone.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from lessonkit.analysis.heads import Head, attention_of
from lessonkit.analysis.hooks import target_start
from transformer.attention import MultiHeadAttention
from transformer.model import Transformer
from transformer.support.errors import UserError

Edge = tuple[int, int]  # (query, key), places from 0
_SIGNATURE = signature(MultiHeadAttention.forward)


@contextmanager
def edges_cut(model: Transformer, cut: Mapping[Head, Collection[Edge]]) -> Iterator[Transformer]:
    """Run a model some of whose heads may not look from one place to another.

    What the query gave to the key goes to the keys that are left: a row still sums to 1.
    Query i of the decoder's stacks has read the target's token i, "<bos>" being 0, and says
    the next. Any search does, and so does `attention_maps`.

    Args:
        model: Changed in place inside the `with` block.
        cut: For each head its edges.

    Raises:
        UserError: the model has no such head, the sentence no such place, or a query would
            have no key left; the last two inside the block, when the model runs.
    """
    layers: dict[tuple[str, int], dict[int, list[Edge]]] = {}
    for head, edges in cut.items():
        attention_of(model, head)  # is there such a head?
        for edge in edges:
            _check(head, edge)
        layers.setdefault((head.stack, head.layer), {})[head.head - 1] = list(edges)
    with ExitStack() as hooks:
        start = hooks.enter_context(target_start(model))
        for (stack, layer), of_heads in layers.items():
            attention = attention_of(model, Head(stack, layer, 1))
            hook = _closing(stack, of_heads, start)
            hooks.enter_context(attention.register_forward_pre_hook(hook, with_kwargs=True))
        yield model


def every_head(heads: Iterable[Head], edges: Collection[Edge]) -> dict[Head, Collection[Edge]]:
    """Cut the same edges in several heads."""
    return dict.fromkeys(heads, edges)


def _check(head: Head, edge: Edge) -> None:
    query, key = edge
    if query < 0 or key < 0:
        raise UserError(f"no edge from {query} to {key}: places count from 0")
    if head.stack == "decoder" and key > query:
        raise UserError(f"no edge from {query} to {key}: the decoder never sees what comes later")


def _closing(
    stack: str, of_heads: Mapping[int, Collection[Edge]], start: Callable[[], int]
) -> Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]:
    """Make a hook that closes edges in the mask of one layer's attention."""

    def close(
        attention: MultiHeadAttention, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        call = _SIGNATURE.bind(attention, *args, **kwargs)
        query, memory = call.arguments["query"], call.arguments.get("memory")
        begun = 0 if stack == "encoder" else start()
        q_len = query.shape[1]
        k_len = begun + q_len if memory is None else memory.shape[1]
        closed = torch.zeros(
            attention.num_heads, q_len, k_len, dtype=torch.bool, device=query.device
        )
        for head, edges in of_heads.items():
            for row, key in edges:
                _check_place(stack, row, key, q_len, k_len)
                if begun <= row < begun + q_len:
                    closed[head, row - begun, key] = True
        call.arguments["mask"] = _without(call.arguments.get("mask"), closed)
        return call.args[1:], call.kwargs

    return close


def _check_place(stack: str, query: int, key: int, q_len: int, k_len: int) -> None:
    """Refuse places that the source has not; the target may still grow."""
    place = query if stack == "encoder" and query >= q_len else key
    if stack != "decoder" and place >= k_len:
        raise UserError(f"no place {place}: the source has {k_len} tokens, counted from 0")


def _without(mask: Tensor | None, closed: Tensor) -> Tensor:
    """Close edges (num_heads, q_len, k_len) of a mask, or of none."""
    left = ~closed[None] if mask is None else mask & ~closed
    if not left.any(dim=-1).all():
        raise UserError("a query has no key left: leave one that it can attend to")
    return left
