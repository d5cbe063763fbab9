"""A model is left as it was: weights, buffers, mode, gradients, optimizer, random numbers.

Not in the paper.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def untouched(
    module: nn.Module | None, optimizer: torch.optim.Optimizer | None = None
) -> Iterator[None]:
    """Put everything back that was changed within.

    Weights are put back into the same tensors, so that an optimizer still finds them.

    Args:
        module: Its parameters, buffers, gradients and modes are kept.
        optimizer: Its state and settings are kept.
    """
    state = copy.deepcopy(optimizer.state_dict()) if optimizer is not None else None
    with torch.random.fork_rng():
        if module is None:
            yield
            return
        tensors = [*module.parameters(), *module.buffers()]
        values = [each.detach().clone() for each in tensors]
        grads = [None if each.grad is None else each.grad.clone() for each in tensors]
        wanted = [each.requires_grad for each in tensors]
        modes = [(each, each.training) for each in module.modules()]
        try:
            yield
        finally:
            with torch.no_grad():
                for tensor, value, grad, needs in zip(tensors, values, grads, wanted, strict=True):
                    tensor.data.copy_(value)
                    tensor.requires_grad_(needs)
                    tensor.grad = grad
            for each, training in modes:
                each.training = training
            if optimizer is not None and state is not None:
                optimizer.load_state_dict(state)


@contextmanager
def in_double(module: nn.Module) -> Iterator[None]:
    """Let a model compute in 64 bits within, and put its own tensors back afterwards."""
    tensors = [*module.parameters(), *module.buffers()]
    own = [each.data for each in tensors]
    names = [(each, dict(each.named_buffers(recurse=False))) for each in module.modules()]
    try:
        module.double()
        yield
    finally:
        for tensor, data in zip(tensors, own, strict=True):
            tensor.data = data
        for each, buffers in names:
            each._buffers.update(buffers)
