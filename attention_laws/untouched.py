"""A model is left as it was: weights, mode, gradients, optimizer, chance (not in the paper)."""

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle


@contextmanager
def untouched(
    module: nn.Module | None,
    optimizer: torch.optim.Optimizer | None = None,
    stateful: Sequence[Any] = (),
) -> Iterator[None]:
    """Put everything back that was changed within; the fast path of torch's layers is off there.

    Weights are put back into the same tensors, so that an optimizer still finds them.
    """
    keepers = [*([] if optimizer is None else [optimizer]), *stateful]
    states = [copy.deepcopy(each.state_dict()) for each in keepers]
    modules = [] if module is None else list(module.modules())
    modes = [(each, each.training, dict(each._buffers)) for each in modules]
    kept = []
    for tensor in _tensors(module, optimizer):
        grad = None if tensor.grad is None else tensor.grad.clone()
        kept.append((tensor, tensor.detach().clone(), grad, tensor.requires_grad))
    fast_path = torch.backends.mha.get_fastpath_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.backends.mha.set_fastpath_enabled(False)  # its nested tensors are shorter
        try:
            yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fast_path)
            for tensor, value, grad, requires_grad in kept:
                tensor.data.copy_(value)
                tensor.requires_grad_(requires_grad)
                tensor.grad = grad
            for each, training, buffers in modes:
                each.training = training
                each._buffers.update(buffers)  # one may have been assigned anew
            for keeper, state in zip(keepers, states, strict=True):
                keeper.load_state_dict(state)


def evaluating(module: nn.Module) -> None:
    """Put a module into evaluation mode, whatever its own `train` does."""
    try:
        module.eval()
    except KeyboardInterrupt:
        raise
    except BaseException:  # theirs: it takes no argument, or the module holds itself
        for each in module.modules():
            each.training = False


def _tensors(module: nn.Module | None, optimizer: torch.optim.Optimizer | None) -> list[Tensor]:
    """Give parameters and buffers, and what the optimizer holds besides."""
    found = [] if module is None else [*module.parameters(), *module.buffers()]
    if optimizer is not None:
        known = {id(each) for each in found}
        held = [each for group in optimizer.param_groups for each in group["params"]]
        found += [each for each in held if id(each) not in known]
    return found


@contextmanager
def hooked(handles: Iterable[RemovableHandle]) -> Iterator[None]:
    """Take hooks off at the end."""
    handles = list(handles)
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def in_double(module: nn.Module) -> Iterator[None]:
    """Let a model compute in 64 bits within, and put its own tensors back afterwards."""
    tensors = [*module.parameters(), *module.buffers()]
    own = [each.data for each in tensors]
    names = [(each, dict(each.named_buffers(recurse=False))) for each in module.modules()]
    try:
        for tensor in tensors:
            if tensor.is_floating_point():
                tensor.data = tensor.data.double()
        yield
    finally:
        for tensor, data in zip(tensors, own, strict=True):
            tensor.data = data
        for each, buffers in names:
            each._buffers.update(buffers)
