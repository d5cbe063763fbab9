"""Find the attentions among the recorded calls of torch (not in the paper)."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attention_laws.torch_calls import (
    FUSED_ATTENTION_CALL_NAME,
    MULTI_HEAD_ATTENTION_CALL_NAME,
    PRODUCT_CALL_NAMES,
    TorchCall,
    accumulated_scale_factor,
)

QueryAndKey = tuple[Tensor, Tensor]  # (..., q_len, width) and (..., k_len, width)


@dataclass
class AttentionCall:
    """One attention as it was computed."""

    # The weights as they were used, (..., q_len, k_len): after a mask that follows the softmax.
    weights: Tensor
    # The input of the softmax; None if it is inside one call of torch.
    scores: Tensor | None = None
    product: Tensor | None = None  # queries times keys, of the same shape
    d_k: int = 0  # width of queries and keys
    factor: float = 1.0  # what queries and keys were multiplied by before
    ratio: float = 1.0  # size of queries relative to keys
    # What each product since the last attention multiplied that has the shape of the scores: of
    # words, and in some models of positions.
    multiplied: list[QueryAndKey] = field(default_factory=list)
    number: int = 0  # of its softmax among all calls
    place: str = ""  # the user's line at which queries are multiplied by keys


def find_attention_calls(calls: list[TorchCall], lengths: set[int]) -> list[AttentionCall]:
    """Return the attentions among calls whose numbers of queries and keys are in `lengths`."""
    attentions: list[AttentionCall] = []
    products: list[TorchCall] = []
    # Products since the last attention.
    new_products: list[TorchCall] = []
    # Whether the next product may be the weights times the values.
    after_softmax = False
    for number, call in enumerate(calls):
        if call.name in (FUSED_ATTENTION_CALL_NAME, MULTI_HEAD_ATTENTION_CALL_NAME):
            is_module = call.name == MULTI_HEAD_ATTENTION_CALL_NAME
            attention = (
                AttentionCall(call.output[1]) if is_module else _attention_call_from_fused(call)
            )
            if attention.weights is not None and set(attention.weights.shape[-2:]) <= lengths:
                attention.number = number
                attentions.append(attention)
        elif call.name in PRODUCT_CALL_NAMES:
            operands = _product_operands(call)
            if after_softmax and operands and operands[0].shape == attentions[-1].weights.shape:
                attentions[-1].weights = operands[0]
            after_softmax = False
            if call.output.dim() >= 3 and set(call.output.shape[-2:]) <= lengths:
                products.append(call)
                new_products.append(call)
        elif call.name == "softmax" and isinstance(call.args[0], Tensor):
            scores = call.args[0]
            if scores.dim() >= 3 and set(scores.shape[-2:]) <= lengths:
                attentions.append(_attention_call_from_softmax(call, products))
                attentions[-1].number = number
                attentions[-1].multiplied = _queries_and_keys(new_products, scores)
                new_products = []
                after_softmax = True
    return attentions


def _attention_call_from_softmax(call: TorchCall, products: list[TorchCall]) -> AttentionCall:
    """Return the attention of a softmax, with the last product of the shape of its scores."""
    scores = call.args[0]
    attention = AttentionCall(call.output, scores)
    fitting = [
        product
        for product in products
        if product.output.shape == scores.shape and len(_product_operands(product)) == 2
    ]
    if fitting:
        product = fitting[-1]
        first, second = _product_operands(product)
        attention.product, attention.place = product.output, product.place
        attention.d_k = _contracted_axis_length(product, first)
        attention.factor = accumulated_scale_factor(first) * accumulated_scale_factor(second)
        attention.ratio = _root_mean_square_ratio(first, second)
    return attention


def _root_mean_square_ratio(first: Tensor, second: Tensor) -> float:
    """Return the root mean square of a tensor relative to that of another."""
    squares = [float(tensor.detach().double().square().mean()) for tensor in (first, second)]
    return (squares[0] / max(squares[1], 1e-30)) ** 0.5


def _product_operands(call: TorchCall) -> list[Tensor]:
    """Return the tensors that a product multiplies, also if einsum gets them as a list."""
    args = call.args[1:] if call.name == "einsum" else call.args
    operands: list[Any] = []
    for arg in args:
        operands += arg if isinstance(arg, tuple | list) else [arg]
    return [operand for operand in operands if isinstance(operand, Tensor)]


def _queries_and_keys(products: list[TorchCall], scores: Tensor) -> list[QueryAndKey]:
    """Return what products of the shape of scores multiplied."""
    pairs = [
        _query_and_key(product) for product in products if product.output.shape == scores.shape
    ]
    return [pair for pair in pairs if pair is not None]


def _query_and_key(call: TorchCall) -> QueryAndKey | None:
    """Return what a product multiplied as queries and keys; None if its axes cannot be told."""
    operands_of_call = _product_operands(call)
    # Of einsum, one that permutes axes, or three of which a scale is one.
    if len(operands_of_call) != 2:
        return None
    first, second = operands_of_call
    if call.name != "einsum":
        return first, second.transpose(-2, -1)
    terms, _, output = call.args[0].replace(" ", "").partition("->")
    operands = []
    for term, other, operand in zip(
        terms.split(","), reversed(terms.split(",")), (first, second), strict=False
    ):
        length = [letter for letter in term if letter in output and letter not in other]
        width = [letter for letter in term if letter in other and letter not in output]
        if len(length) != 1 or len(width) != 1:
            return None
        # Counted from the end, since an ellipsis stands for any number of axes before.
        axes = [term.index(letter) - len(term) for letter in (*length, *width)]
        operands.append(operand.movedim(axes, (-2, -1)))
    return operands[0], operands[1]


def _contracted_axis_length(call: TorchCall, first: Tensor) -> int:
    """Return the length of the axis that a product sums over; 0 if that cannot be seen."""
    if call.name != "einsum":
        return first.shape[-1]
    terms, _, output = call.args[0].replace(" ", "").partition("->")
    first_term = terms.split(",")[0]
    letters = [letter for letter in first_term if letter not in output and letter.isalpha()]
    if len(letters) != 1:
        return 0
    place = first_term.index(letters[0])
    # Counted from the end behind an ellipsis, which stands for any number of axes.
    is_behind_ellipsis = "." in first_term[:place]
    return first.shape[place - len(first_term) if is_behind_ellipsis else place]


def _attention_call_from_fused(call: TorchCall) -> AttentionCall:
    """Compute what torch's fused attention does not return: its weights and scores."""
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    arguments = {**dict(zip(names, call.args, strict=False)), **call.options}
    query, key, mask = arguments["query"], arguments["key"], arguments.get("attn_mask")
    # Grouped queries: several heads of queries share one head of keys.
    if query.shape[-3:-2] != key.shape[-3:-2]:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    scale = arguments.get("scale") or query.shape[-1] ** -0.5
    product = query @ key.transpose(-2, -1)
    scores = product * scale
    if arguments.get("is_causal"):
        ones = torch.ones(scores.shape[-2:], dtype=torch.bool)
        scores = scores.masked_fill(~ones.tril(), -torch.inf)
    if mask is not None:
        is_boolean = mask.dtype == torch.bool
        scores = scores.masked_fill(~mask, -torch.inf) if is_boolean else scores + mask
    return AttentionCall(
        weights=scores.softmax(dim=-1),
        scores=scores,
        product=product,
        d_k=query.shape[-1],
        factor=accumulated_scale_factor(arguments["query"])
        * accumulated_scale_factor(arguments["key"]),
        ratio=_root_mean_square_ratio(arguments["query"], arguments["key"]),
        multiplied=[(query, key)],
        place=call.place,
    )
