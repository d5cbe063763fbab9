"""Leave a model as it was: weights, mode, gradients, optimizer, random state (not in the paper)."""

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.hooks import RemovableHandle


@contextmanager
def model_state_restored_afterwards(
    module: nn.Module | None,
    optimizer: torch.optim.Optimizer | None = None,
    stateful: Sequence[Any] = (),
) -> Iterator[None]:
    """Restore everything that changes in the block; the fast path of torch's layers is off there.

    Weights are written back into the same tensors, so that an optimizer still finds them.
    """
    stateful = [*([] if optimizer is None else [optimizer]), *stateful]
    states = [copy.deepcopy(part.state_dict()) for part in stateful]
    modules = [] if module is None else list(module.modules())
    modes = [(part, part.training, dict(part._buffers)) for part in modules]
    saved_tensors = []
    for tensor in _model_and_optimizer_weights(module, optimizer):
        grad = None if tensor.grad is None else tensor.grad.clone()
        saved_tensors.append((tensor, tensor.detach().clone(), grad, tensor.requires_grad))
    fast_path = torch.backends.mha.get_fastpath_enabled()
    with torch.random.fork_rng(devices=[]):
        # The fast path's nested tensors are shorter than the batch.
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fast_path)
            for tensor, value, grad, requires_grad in saved_tensors:
                tensor.data.copy_(value)
                tensor.requires_grad_(requires_grad)
                tensor.grad = grad
            for part, training, buffers in modes:
                part.training = training
                # A buffer may have been assigned anew.
                part._buffers.update(buffers)
            for part, state in zip(stateful, states, strict=True):
                part.load_state_dict(state)


def force_eval_mode(module: nn.Module) -> None:
    """Put a module into evaluation mode, whatever its own `train` does."""
    try:
        module.eval()
    except KeyboardInterrupt:
        raise
    except BaseException:
        # Somebody's `train` takes no argument, or the module contains itself.
        for part in module.modules():
            part.training = False


def _model_and_optimizer_weights(
    module: nn.Module | None, optimizer: torch.optim.Optimizer | None
) -> list[Tensor]:
    """Return parameters and buffers, and what else the optimizer holds."""
    tensors = [] if module is None else [*module.parameters(), *module.buffers()]
    if optimizer is not None:
        known = {id(tensor) for tensor in tensors}
        held = [weight for group in optimizer.param_groups for weight in group["params"]]
        tensors += [weight for weight in held if id(weight) not in known]
    return tensors


@contextmanager
def hooks_removed_afterwards(handles: Iterable[RemovableHandle]) -> Iterator[None]:
    """Remove hooks at the end of the block."""
    handles = list(handles)
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def weights_temporarily_in_float64(module: nn.Module) -> Iterator[None]:
    """Let a model compute in float64 in the block, and restore its own tensors afterwards."""
    tensors = [*module.parameters(), *module.buffers()]
    values = [tensor.data for tensor in tensors]
    buffers = [(part, dict(part.named_buffers(recurse=False))) for part in module.modules()]
    try:
        for tensor in tensors:
            if tensor.is_floating_point():
                tensor.data = tensor.data.double()
        yield
    finally:
        for tensor, value in zip(tensors, values, strict=True):
            tensor.data = value
        for part, own_buffers in buffers:
            part._buffers.update(own_buffers)


@contextmanager
def parameters_and_buffers_put_back_afterwards(module: nn.Module) -> Iterator[None]:
    """Put back the same tensors with their values, whatever is assigned or written in the block."""
    owned = [(part, dict(part._parameters), dict(part._buffers)) for part in module.modules()]
    tensors = [*module.parameters(), *module.buffers()]
    values = [tensor.detach().clone() for tensor in tensors]
    try:
        yield
    finally:
        for part, parameters, buffers in owned:
            part._parameters.update(parameters)
            part._buffers.update(buffers)
        for tensor, value in zip(tensors, values, strict=True):
            tensor.data.copy_(value)


class Float32AsFloat64(TorchFunctionMode):
    """Take float64 for float32 in each call of torch within a block.

    Norms and rotary positions are often computed in float32 whatever the type of their input is.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.float:
            return args[0].double()
        options = {name: _float64_if_float32(value) for name, value in (kwargs or {}).items()}
        return func(*map(_float64_if_float32, args), **options)


def _float64_if_float32(value: Any) -> Any:
    return torch.float64 if value is torch.float32 else value
