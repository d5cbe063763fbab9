"""Where the seconds of a training step go, by kind of work. Not in the paper."""

from collections.abc import Callable

from transformer.support.clock import Timed

# How the names of PyTorch's operations begin, by what they do in a training step. What is
# named nowhere (sums, copies, masks, the ReLU) is `REST`.
KINDS: dict[str, tuple[str, ...]] = {
    "products": ("mm", "addmm", "bmm"),
    "attention": ("_scaled_dot_product", "_softmax", "_safe_softmax"),
    "loss": ("_log_softmax", "exp_", "gather", "scatter_add"),
    "dropout": ("native_dropout", "bernoulli", "random"),
    "norm": ("native_layer_norm",),
    "Adam": ("_fused_adam", "_foreach_norm", "linalg_vector_norm"),
    "casts": ("_to_copy",),
}
REST = "all else"


def kind(operation: str) -> str:
    """Give the kind of work that an operation is, one of `KINDS` or `REST`.

    Args:
        operation: As PyTorch names it: "aten::mm", "aten::native_dropout_backward".
    """
    name = operation.partition("::")[2]
    kinds = (each for each, starts in KINDS.items() if name.startswith(starts))
    return next(kinds, REST)


def shares(step: Callable[[], object], steps: int = 3) -> dict[str, float]:
    """Give each kind's share of the processor's seconds in PyTorch's operations, from 0 to 1.

    What Python does between the operations is not in it, nor what else runs on the machine.

    Args:
        step: Makes one training step on the CPU; called once before it is timed.
        steps: How many are timed.
    """
    step()
    with Timed(lambda name, _: kind(name)) as timed:
        for _ in range(steps):
            step()
    total = sum(timed.seconds.values())
    return {name: timed.seconds[name] / total for name in (*KINDS, REST)}
