"""What any model computes, seen by asking torch itself as it is computed (not in the paper)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

PRODUCTS = {"matmul", "rmatmul", "bmm", "einsum"}
FUSED, WHOLE = "scaled_dot_product_attention", "multi_head_attention_forward"
SEEN = {"softmax", "linear", FUSED, WHOLE, *PRODUCTS}
SCALINGS = {"mul": 1, "rmul": 1, "imul": 1, "div": -1, "truediv": -1, "itruediv": -1}
VIEWS = {
    *("view", "reshape", "transpose", "permute", "contiguous", "unsqueeze", "squeeze", "flatten"),
    *("unflatten", "expand", "clone", "movedim", "swapaxes", "dropout"),
}

Change = Callable[[int, Tensor], Tensor]


class Called(NamedTuple):
    """One call of torch: its name without underscores, what it was given, and what it gave."""

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any]
    out: Any


class Watch(TorchFunctionMode):
    """Note what is called within; `change(number, out)` gives what that call is to give."""

    def __init__(self, change: Change | None = None) -> None:
        super().__init__()
        self.calls: list[Called] = []
        self.change = change

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        name = getattr(func, "__name__", "").strip("_")
        asked = options.get("need_weights", True)
        if name == WHOLE:
            options = {**options, "need_weights": True, "average_attn_weights": False}
        out = func(*args, **options)
        if name in SEEN:
            if self.change and name in ("linear", WHOLE):
                first = out if name == "linear" else out[0]
                first = self.change(len(self.calls), first)
                out = first if name == "linear" else (first, out[1])
            self.calls.append(Called(name, args, options, out))
        elif isinstance(out, Tensor):
            _remember_factor(name, args, out)
        return (out[0], None) if name == WHOLE and not asked else out


def _remember_factor(name: str, args: tuple[Any, ...], out: Tensor) -> None:
    """Let a tensor know by what number it was multiplied, through views too."""
    if not args or not isinstance(args[0], Tensor):
        return
    factor = factor_of(args[0])
    if name in SCALINGS and len(args) > 1:
        by = args[1]
        if isinstance(by, Tensor) and by.numel() != 1:
            return
        factor *= float(by) ** SCALINGS[name]
    elif name not in VIEWS:
        return
    if factor != 1.0:
        out._laws_factor = factor  # type: ignore[attr-defined]


def factor_of(tensor: Tensor) -> float:
    """Give the number that a tensor was multiplied by since it was computed."""
    return float(getattr(tensor, "_laws_factor", 1.0))


@dataclass
class Attention:
    """One attention as it was computed."""

    weights: Tensor  # as they were used, (..., q_len, k_len): after a mask that follows the softmax
    # what the softmax was given; None where it is within a call of torch
    scores: Tensor | None = None
    product: Tensor | None = None  # queries times keys, of the same shape
    d_k: int = 0  # width of these
    factor: float = 1.0  # what the queries and keys were multiplied by before
    ratio: float = 1.0  # size of queries to that of keys


def attentions(calls: list[Called], lengths: set[int]) -> list[Attention]:
    """Give the attentions among calls, from and to places whose number is one of `lengths`."""
    found: list[Attention] = []
    products: list[Called] = []
    softened = False  # whether the next product may be the weights times the values
    for call in calls:
        if call.name in (FUSED, WHOLE):
            whole = call.name == WHOLE
            seen = Attention(call.out[1]) if whole else _fused(call)
            if seen.weights is not None and set(seen.weights.shape[-2:]) <= lengths:
                found.append(seen)
        elif call.name in PRODUCTS:
            operands = _operands(call)
            if softened and operands and operands[0].shape == found[-1].weights.shape:
                found[-1].weights = operands[0]
            softened = False
            if call.out.dim() >= 3 and set(call.out.shape[-2:]) <= lengths:
                products.append(call)
        elif call.name == "softmax" and isinstance(call.args[0], Tensor):
            scores = call.args[0]
            if scores.dim() >= 3 and set(scores.shape[-2:]) <= lengths:
                seen = Attention(call.out, scores)
                fitting = [each for each in products if each.out.shape == scores.shape]
                if fitting:
                    seen.product, (one, other) = fitting[-1].out, _operands(fitting[-1])[:2]
                    seen.d_k = _contracted(fitting[-1], one)
                    seen.factor = factor_of(one) * factor_of(other)
                    seen.ratio = _ratio(one, other)
                found.append(seen)
                softened = True
    return found


def _ratio(one: Tensor, other: Tensor) -> float:
    """Give how large a tensor is to another, by their squares."""
    sizes = [float(each.detach().double().square().mean()) for each in (one, other)]
    return (sizes[0] / max(sizes[1], 1e-30)) ** 0.5


def _operands(call: Called) -> list[Tensor]:
    args = call.args[1:] if call.name == "einsum" else call.args
    flat = [each for arg in args for each in (arg if isinstance(arg, tuple | list) else [arg])]
    return [each for each in flat if isinstance(each, Tensor)]


def _contracted(call: Called, first: Tensor) -> int:
    """Give the length of the axis that a product sums over; 0 where that is not to be seen."""
    if call.name != "einsum":
        return first.shape[-1]
    terms, _, out = call.args[0].replace(" ", "").partition("->")
    letters = [each for each in terms.split(",")[0] if each not in out and each.isalpha()]
    return first.shape[terms.index(letters[0])] if len(letters) == 1 else 0


def _fused(call: Called) -> Attention:
    """Compute what torch's fused attention does not give."""
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    given = {**dict(zip(names, call.args, strict=False)), **call.options}
    query, key, mask = given["query"], given["key"], given.get("attn_mask")
    if query.shape[-3:-2] != key.shape[-3:-2]:  # grouped
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    scale = given.get("scale") or query.shape[-1] ** -0.5
    product = query @ key.transpose(-2, -1)
    scores = product * scale
    if given.get("is_causal"):
        ones = torch.ones(scores.shape[-2:], dtype=torch.bool)
        scores = scores.masked_fill(~ones.tril(), -torch.inf)
    if mask is not None:
        hidden = mask.dtype == torch.bool
        scores = scores.masked_fill(~mask, -torch.inf) if hidden else scores + mask
    factor = factor_of(given["query"]) * factor_of(given["key"])
    ratio = _ratio(given["query"], given["key"])
    return Attention(scores.softmax(dim=-1), scores, product, query.shape[-1], factor, ratio)


@torch.no_grad()
def let_end(subject: Any) -> bool:
    """Let a `Subject`'s fresh model end sentences; tell whether its output layer was found."""
    if subject.adapter.module is None:
        return False
    ids = subject.src(1, 5), subject.tgt_in(1, 4)
    width = subject.logits(*ids).shape[-1]
    maps = [each for each in subject.calls(*ids) if each.name == "linear"]
    wide = [each for each in maps if each.out.shape[-1] == width]
    given = {each.data_ptr() for each in wide[-1].args[1:] if each is not None} if wide else set()
    weights = [each for each in subject.module.parameters() if each.data_ptr() in given]
    for weight in weights:
        if weight.dim() == 1:
            weight[subject.adapter.eos_id] += 2
        else:
            weight.mul_(3)
    return bool(weights)
