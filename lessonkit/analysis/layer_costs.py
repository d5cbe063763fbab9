"""Why self-attention: what a layer costs, and how far a signal travels in it (§4, Table 1).

Three layers map n vectors of width d to n others. Their cost is computed as in the paper's
table, and measured: operations by counting them, seconds by the clock, waiting steps and path
length in the graph that PyTorch keeps of a computation.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.graph import Node
from torch.utils.flop_counter import FlopCounterMode

from transformer.attention import scaled_dot_product_attention
from transformer.support.errors import UserError

KERNEL = 3  # width of a convolution, k in the paper
PRODUCTS = ("AddmmBackward", "MmBackward", "BmmBackward", "ConvolutionBackward")


class Cost(NamedTuple):
    """A row of Table 1, as numbers for one n and d, without the O(...).

    Attributes:
        operations: Multiplications with their additions.
        sequential: Steps of which each must wait for the one before.
        path: The longest way a signal has to go between two positions, in steps.
    """

    operations: float
    sequential: float
    path: float


def table_1(n: int, d: int, kernel: int = KERNEL, neighbours: int = 16) -> dict[str, Cost]:
    """Compute Table 1 (§4).

    Args:
        n: Length of the sequence.
        d: Width of its vectors.
        kernel: Width of the convolution, k in the paper.
        neighbours: How many positions restricted self-attention sees, r in the paper.

    Raises:
        UserError: a number is too small.
    """
    for name, value, least in (
        ("n", n, 1),
        ("d", d, 1),
        ("kernel", kernel, 2),
        ("neighbours", neighbours, 1),
    ):
        if value < least:
            raise UserError(f"{name} is {value}: give {least} or more")
    near = min(neighbours, n)
    return {
        "self-attention": Cost(n * n * d, 1, 1),
        "recurrent": Cost(n * d * d, n, n),
        "convolution": Cost(kernel * n * d * d, 1, math.log(n, kernel)),
        "restricted self-attention": Cost(near * n * d, 1, n / near),
    }


Layer = Callable[[list[Tensor]], list[Tensor]]


def make_layer(name: str, d: int, kernel: int = KERNEL) -> Layer:
    """Make one layer: it takes n vectors of width d and gives n others.

    Self-attention is Eq. 1 with the same vectors as queries, keys and values; the recurrent
    layer a plain RNN; the convolution sees `kernel` vectors, the last of them in its own place.

    Args:
        name: "self-attention", "recurrent" or "convolution".
        d: Width of the vectors.
        kernel: Width of the convolution.

    Raises:
        UserError: the name is another.
    """
    makers = {"self-attention": _attention, "recurrent": _recurrent, "convolution": _convolution}
    if name not in makers:
        raise UserError(f"no layer {name!r} to measure: give one of {', '.join(makers)}")
    return makers[name](d, kernel)


def _attention(d: int, kernel: int) -> Layer:
    def layer(vectors: list[Tensor]) -> list[Tensor]:
        each = torch.stack(vectors)[None, None]  # one sentence, one head
        return list(scaled_dot_product_attention(each, each, each)[0][0, 0].unbind())

    return layer


def _recurrent(d: int, kernel: int) -> Layer:
    from_input, from_state = (torch.randn(d, d) / math.sqrt(d) for _ in range(2))

    def layer(vectors: list[Tensor]) -> list[Tensor]:
        state, outputs = torch.zeros(1, d), []
        for vector in vectors:
            state = torch.tanh(vector[None] @ from_input + state @ from_state)
            outputs.append(state[0])
        return outputs

    return layer


def _convolution(d: int, kernel: int, dilation: int = 1) -> Layer:
    weight = torch.randn(d, d, kernel) / math.sqrt(kernel * d)

    def layer(vectors: list[Tensor]) -> list[Tensor]:
        across = torch.stack(vectors, dim=1)[None]  # (1, d, n)
        across = F.pad(across, (dilation * (kernel - 1), 0))
        return list(F.conv1d(across, weight, dilation=dilation)[0].unbind(dim=1))

    return layer


def _vectors(n: int, d: int) -> list[Tensor]:
    return [torch.randn(d, requires_grad=True) for _ in range(n)]


def count_operations(layer: Layer, n: int, d: int) -> int:
    """Count the multiplications that a layer does on n vectors of width d, while it does them."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(_vectors(n, d))
    return counter.get_total_flops() // 2  # PyTorch counts a multiplication and its addition


def measure_seconds(layer: Layer, n: int, d: int) -> float:
    """Time a layer on n vectors of width d, on one thread: the median of some tenth of a second.

    What counts is the time that the processor works, so that a busy machine draws the same curve.

    Args:
        layer: From `make_layer` or of your own making.
        n: Length of the sequence.
        d: Width of its vectors.

    Returns:
        Seconds.
    """
    # Where a CUDA build finds no GPU, as on Colab without one, this import says so on stderr.
    from torch.utils.benchmark import Timer

    known = {"layer": layer, "vectors": _vectors(n, d)}
    with torch.no_grad():
        timer = Timer("layer(vectors)", timer=time.process_time, globals=known)
        return timer.blocked_autorange(min_run_time=0.1).median


class Ways(NamedTuple):
    """Ways through a computation, in products (matrix products and convolutions).

    Attributes:
        shortest: From the first input vector to the last output vector.
        longest: To the last output vector from anywhere: products that wait for each other.
    """

    shortest: int
    longest: int


def ways(layer: Layer, n: int, d: int) -> Ways:
    """Follow a layer's graph back from its last output vector.

    Args:
        layer: From `make_layer` or of your own making.
        n: Length of the sequence.
        d: Width of its vectors.

    Raises:
        UserError: the last output does not depend on the first input.
    """
    vectors = _vectors(n, d)
    output = layer(vectors)[-1].sum()
    (gradient,) = torch.autograd.grad(output, vectors[:1], retain_graph=True, allow_unused=True)
    if gradient is None or not bool(gradient.any()):
        raise UserError(
            f"the last of {n} outputs does not depend on the first input: one such layer does not "
            "reach so far; stack some"
        )
    assert output.grad_fn is not None
    shortest: dict[Node, float] = {}
    longest: dict[Node, float] = {}
    for node in _in_order(output.grad_fn):
        step = int(node.name().startswith(PRODUCTS))
        before = [each for each, _ in node.next_functions if each is not None]
        first = getattr(node, "variable", None) is vectors[0]
        shortest[node] = 0 if first else step + min((shortest[b] for b in before), default=math.inf)
        longest[node] = step + max((longest[b] for b in before), default=0)
    return Ways(int(shortest[output.grad_fn]), int(longest[output.grad_fn]))


def _in_order(last: Node) -> list[Node]:
    """List a graph's nodes, each after all that it was made of."""
    order: list[Node] = []
    waiting: list[tuple[Node | None, bool]] = [(last, False)]
    seen: set[Node] = set()
    while waiting:
        node, made = waiting.pop()
        if node is None:
            continue
        if made:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            waiting.append((node, True))
            waiting += [(before, False) for before, _ in node.next_functions]
    return order


def stacked(layers: list[Layer]) -> Layer:
    """Put layers on top of each other."""

    def stack(vectors: list[Tensor]) -> list[Tensor]:
        for layer in layers:
            vectors = layer(vectors)
        return vectors

    return stack


def convolutions_needed(n: int, d: int, kernel: int = KERNEL, dilated: bool = False) -> int:
    """Count the convolutions it takes until the last output has seen the first input.

    Measured: layers are added until the gradient arrives.

    Args:
        n: Length of the sequence.
        d: Width of its vectors.
        kernel: Width of each.
        dilated: Whether each one's holes are `kernel` times as wide as those below it.
    """
    layers: list[Layer] = []
    while True:
        layers.append(_convolution(d, kernel, kernel ** len(layers) if dilated else 1))
        vectors = _vectors(n, d)
        stacked(layers)(vectors)[-1].sum().backward()
        gradient = vectors[0].grad
        if gradient is not None and bool(gradient.any()):
            return len(layers)
