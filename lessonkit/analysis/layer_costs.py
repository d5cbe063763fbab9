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
from transformer.support.checks import check_number, check_sizes
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

KERNEL_WIDTH = 3  # width of a convolution, k in the paper
# How autograd names the nodes of matrix products and convolutions.
AUTOGRAD_PRODUCT_NODE_PREFIXES = (
    "AddmmBackward",
    "MmBackward",
    "BmmBackward",
    "ConvolutionBackward",
)

MAX_NUM_VECTORS, MAX_VECTOR_WIDTH = 256, 1024  # that a layer is measured with
MAX_KERNEL_WIDTH = 64

LayerFunction = Callable[[list[Tensor]], list[Tensor]]


@check_argument_types
def make_layer(name: str, d: int) -> LayerFunction:
    """Make one layer, a function from n vectors of width d to n others.

    "self-attention" is Eq. 1 with the same vectors as queries, keys and values; "recurrent" a plain
    RNN; "convolution" sees `KERNEL_WIDTH` vectors, the last of them in its own place. Another name
    is a UserError.
    """
    makers = {
        "self-attention": _make_attention,
        "recurrent": _make_recurrent_layer,
        "convolution": _make_convolution,
    }
    if name not in makers:
        raise UserError(f"no layer {name!r} to measure: give {', '.join(makers)}")
    check_sizes(MAX_VECTOR_WIDTH, d=d)
    return makers[name](d)


def _make_attention(_: int) -> LayerFunction:
    def layer(vectors: list[Tensor]) -> list[Tensor]:
        stacked = torch.stack(vectors)[None, None]  # (1, 1, n, d): one sentence, one head
        mixed, _ = scaled_dot_product_attention(stacked, stacked, stacked)
        return list(mixed[0, 0].unbind())

    return layer


def _make_recurrent_layer(d: int) -> LayerFunction:
    from_input = torch.randn(d, d) / math.sqrt(d)
    from_state = torch.randn(d, d) / math.sqrt(d)

    def layer(vectors: list[Tensor]) -> list[Tensor]:
        state, outputs = torch.zeros(1, d), []
        for vector in vectors:
            state = torch.tanh(vector[None] @ from_input + state @ from_state)
            outputs.append(state[0])
        return outputs

    return layer


def _make_convolution(d: int, kernel: int = KERNEL_WIDTH, dilation: int = 1) -> LayerFunction:
    weight = torch.randn(d, d, kernel) / math.sqrt(kernel * d)

    def layer(vectors: list[Tensor]) -> list[Tensor]:
        stacked = torch.stack(vectors, dim=1)[None]  # (1, d, n)
        padded = F.pad(stacked, (dilation * (kernel - 1), 0))
        return list(F.conv1d(padded, weight, dilation=dilation)[0].unbind(dim=1))

    return layer


def _check_vector_limits(n: int, d: int) -> None:
    """Raise a UserError for so many vectors, or such wide ones, that measuring takes minutes."""
    check_sizes(MAX_NUM_VECTORS, n=n)
    check_sizes(MAX_VECTOR_WIDTH, d=d)


def _random_vectors(n: int, d: int) -> list[Tensor]:
    return [torch.randn(d, requires_grad=True) for _ in range(n)]


def _apply_layer(layer: LayerFunction, vectors: list[Tensor]) -> list[Tensor]:
    """Return a layer's outputs; raise a UserError if it takes no vectors of this width."""
    try:
        return layer(vectors)
    except RuntimeError as error:
        given = f"{len(vectors)} vectors of width {len(vectors[0])}"
        reason = str(error).splitlines()[0]
        raise UserError(
            f"the layer does not take {given} ({reason}): give the width it was made for"
        ) from error


@check_argument_types
def measure_seconds(layer: LayerFunction, n: int, d: int) -> float:
    """Time a layer on n vectors of width d, on one thread: the median of a tenth of a second.

    What counts is the time that the processor works, so that a busy machine draws the same curve.
    """
    _check_vector_limits(n, d)
    # A CUDA build that finds no GPU, as on Colab without one, says so on stderr at this import.
    from torch.utils.benchmark import Timer

    names = {"layer": layer, "vectors": _random_vectors(n, d)}
    _apply_layer(layer, _random_vectors(n, d))  # raises for a layer of another width
    with torch.no_grad():
        timer = Timer("layer(vectors)", timer=time.process_time, globals=names)
        return timer.blocked_autorange(min_run_time=0.1).median


class PathLengths(NamedTuple):
    """How long the paths through a computation are, in matrix products and convolutions.

    The paper's Table 1 calls the first the maximum path length, the second the sequential
    operations.
    """

    shortest: int  # from the first input vector to the last output vector
    longest: int  # to that from anywhere: products that wait for each other


@check_argument_types
def path_lengths(layer: LayerFunction, n: int, d: int) -> PathLengths:
    """Measure the paths of a layer's graph, on n vectors of width d, to its last output vector.

    Raises:
        UserError: The last output does not depend on the first input.
    """
    _check_vector_limits(n, d)
    vectors = _random_vectors(n, d)
    output = _apply_layer(layer, vectors)[-1].sum()
    (gradient,) = torch.autograd.grad(output, vectors[:1], retain_graph=True, allow_unused=True)
    if gradient is None or not bool(gradient.any()):
        raise UserError(
            f"the last of {n} outputs does not depend on the first input: one such layer does not "
            "reach so far; stack some"
        )
    graph = _autograd_graph(output)
    shortest: dict[Node, float] = {}
    longest: dict[Node, int] = {}
    for node in TopologicalSorter(graph).static_order():
        products = 1 if node.name().startswith(AUTOGRAD_PRODUCT_NODE_PREFIXES) else 0
        is_first_input = getattr(node, "variable", None) is vectors[0]
        nearest = min((shortest[operand] for operand in graph[node]), default=math.inf)
        shortest[node] = 0 if is_first_input else products + nearest
        longest[node] = products + max((longest[operand] for operand in graph[node]), default=0)
    # The last node in topological order is the output.
    return PathLengths(int(shortest[node]), longest[node])


def _autograd_graph(output: Tensor) -> dict[Node, list[Node]]:
    """Return the nodes that an output was computed by, each with the nodes of its operands."""
    graph: dict[Node, list[Node]] = {}
    waiting: list[Any] = [output.grad_fn]
    while waiting:
        node = waiting.pop()
        if node not in graph:
            graph[node] = [operand for operand, _ in node.next_functions if operand is not None]
            waiting += graph[node]
    return graph


@check_argument_types
def count_convolutions_needed(
    n: int, d: int, kernel: int = KERNEL_WIDTH, dilated: bool = False
) -> int:
    """Count the convolutions it takes until the last of n outputs has seen the first input.

    It is measured: layers are added until the gradient arrives. If they are dilated, the dilation
    of each is `kernel` times that of the layer below it.
    """
    _check_vector_limits(n, d)
    check_number("kernel", kernel, 2, MAX_KERNEL_WIDTH, integer=True)  # 1 sees no neighbour
    layers: list[LayerFunction] = []
    while True:
        dilation = kernel ** len(layers) if dilated else 1
        layers.append(_make_convolution(d, kernel, dilation))
        vectors = _random_vectors(n, d)
        outputs = vectors
        for layer in layers:
            outputs = layer(outputs)
        outputs[-1].sum().backward()
        gradient = vectors[0].grad
        if gradient is not None and bool(gradient.any()):
            return len(layers)
