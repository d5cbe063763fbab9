"""What a layer costs, and how far a signal travels in it (§4, Table 1); what a step costs.

Three layers map n vectors of width d to n others. Their cost is measured: seconds by the clock,
waiting steps and path length in the graph that PyTorch keeps of a computation.

A training step's operations (§5.2, Table 2) are counted from the model's shape, and by PyTorch. A
multiplication and the addition that follows it are two. Only matrix products are counted: all
else (norms, softmax, dropout, Adam) does a few operations for each number, products do hundreds.
"""

import math
import time
from collections.abc import Callable
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.graph import Node

from transformer.attention import scaled_dot_product_attention
from transformer.support.errors import UserError

KERNEL = 3  # width of a convolution, k in the paper
PRODUCTS = ("AddmmBackward", "MmBackward", "BmmBackward", "ConvolutionBackward")


Layer = Callable[[list[Tensor]], list[Tensor]]


def make_layer(name: str, d: int) -> Layer:
    """Make one layer: it takes n vectors of width d and gives n others.

    "self-attention" is Eq. 1 with the same vectors as queries, keys and values; "recurrent" a plain
    RNN; "convolution" sees `KERNEL` vectors, the last of them in its own place. Another name is a
    UserError.
    """
    makers = {"self-attention": _attention, "recurrent": _recurrent, "convolution": _convolution}
    if name not in makers:
        raise UserError(f"no layer {name!r} to measure: give {', '.join(makers)}")
    return makers[name](d)


def _attention(_: int) -> Layer:
    def layer(vectors: list[Tensor]) -> list[Tensor]:
        each = torch.stack(vectors)[None, None]  # one sentence, one head
        return list(scaled_dot_product_attention(each, each, each)[0][0, 0].unbind())

    return layer


def _recurrent(d: int) -> Layer:
    from_input, from_state = (torch.randn(d, d) / math.sqrt(d) for _ in range(2))

    def layer(vectors: list[Tensor]) -> list[Tensor]:
        state, outputs = torch.zeros(1, d), []
        for vector in vectors:
            state = torch.tanh(vector[None] @ from_input + state @ from_state)
            outputs.append(state[0])
        return outputs

    return layer


def _convolution(d: int, kernel: int = KERNEL, dilation: int = 1) -> Layer:
    weight = torch.randn(d, d, kernel) / math.sqrt(kernel * d)

    def layer(vectors: list[Tensor]) -> list[Tensor]:
        across = torch.stack(vectors, dim=1)[None]  # (1, d, n)
        across = F.pad(across, (dilation * (kernel - 1), 0))
        return list(F.conv1d(across, weight, dilation=dilation)[0].unbind(dim=1))

    return layer


def _vectors(n: int, d: int) -> list[Tensor]:
    return [torch.randn(d, requires_grad=True) for _ in range(n)]


def measure_seconds(layer: Layer, n: int, d: int) -> float:
    """Time a layer on n vectors of width d, on one thread: the median of some tenth of a second.

    What counts is the time that the processor works, so that a busy machine draws the same curve.
    """
    # Where a CUDA build finds no GPU, as on Colab without one, this import says so on stderr.
    from torch.utils.benchmark import Timer

    known = {"layer": layer, "vectors": _vectors(n, d)}
    with torch.no_grad():
        timer = Timer("layer(vectors)", timer=time.process_time, globals=known)
        return timer.blocked_autorange(min_run_time=0.1).median


class PathLengths(NamedTuple):
    """PathLengths through a computation, in products (matrix products and convolutions)."""

    shortest: int  # from the first input vector to the last output vector
    longest: int  # to that from anywhere: products that wait for each other


def path_lengths(layer: Layer, n: int, d: int) -> PathLengths:
    """Follow a layer's graph, on n vectors of width d, back from its last output vector.

    A UserError where that does not depend on the first input.
    """
    vectors = _vectors(n, d)
    output = layer(vectors)[-1].sum()
    (gradient,) = torch.autograd.grad(output, vectors[:1], retain_graph=True, allow_unused=True)
    if gradient is None or not bool(gradient.any()):
        raise UserError(
            f"the last of {n} outputs does not depend on the first input: one such layer does not "
            "reach so far; stack some"
        )
    made_of: dict[Node, list[Node]] = {}
    waiting: list[Any] = [output.grad_fn]
    while waiting:
        node = waiting.pop()
        if node not in made_of:
            made_of[node] = [each for each, _ in node.next_functions if each is not None]
            waiting += made_of[node]
    shortest: dict[Node, float] = {}
    longest: dict[Node, int] = {}
    for node in TopologicalSorter(made_of).static_order():
        step = int(node.name().startswith(PRODUCTS))
        first = getattr(node, "variable", None) is vectors[0]
        nearest = min((shortest[each] for each in made_of[node]), default=math.inf)
        shortest[node] = 0 if first else step + nearest
        longest[node] = step + max((longest[each] for each in made_of[node]), default=0)
    return PathLengths(int(shortest[node]), longest[node])  # the last output comes last


def convolutions_needed(n: int, d: int, kernel: int = KERNEL, dilated: bool = False) -> int:
    """Count the convolutions it takes until the last of n outputs has seen the first input.

    Measured: layers are added until the gradient arrives. If dilated, each one's holes are `kernel`
    times as wide as those below it.
    """
    layers: list[Layer] = []
    while True:
        layers.append(_convolution(d, kernel, kernel ** len(layers) if dilated else 1))
        vectors = outputs = _vectors(n, d)
        for layer in layers:
            outputs = layer(outputs)
        outputs[-1].sum().backward()
        gradient = vectors[0].grad
        if gradient is not None and bool(gradient.any()):
            return len(layers)
