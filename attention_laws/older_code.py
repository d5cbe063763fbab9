"""Let code run here that was written for a GPU, or for an older torch (not in the paper)."""

import os
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

CUDA_AS_CPU_ASSUMPTION = "what asks for a GPU gets the CPU (--cuda-as-cpu)"
# Calls whose second argument is a mask, which older versions of torch took as uint8.
MASKED_CALL_NAMES = {"masked_fill", "masked_fill_", "masked_select", "masked_scatter"}
UINT8_MASK_ERROR = "only supports boolean masks"
CUDA_TENSOR_TYPE_NAMES = ("FloatTensor", "DoubleTensor", "LongTensor", "IntTensor", "ByteTensor")
GPU_CHOICE_CALL_NAMES = ("set_device", "synchronize")


class Uint8MasksAsBooleans(TorchFunctionMode):
    """Take masks of uint8 as boolean ones in a block, as older versions of torch did."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = dict(kwargs or {})
        if getattr(func, "__name__", "") in MASKED_CALL_NAMES:
            args = (args[0], *map(_boolean_if_uint8, args[1:2]), *args[2:])
            if "mask" in options:
                options["mask"] = _boolean_if_uint8(options["mask"])
        return func(*args, **options)


def _boolean_if_uint8(value: Any) -> Any:
    is_uint8 = isinstance(value, Tensor) and value.dtype == torch.uint8
    return value.bool() if is_uint8 else value


class _CudaAsCpu(TorchFunctionMode):
    """Take the CPU for a CUDA device in each call of torch within a block."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in ("cuda", "pin_memory"):
            return args[0]
        options = {name: _cpu_if_cuda(value) for name, value in (kwargs or {}).items()}
        return func(*map(_cpu_if_cuda, args), **options)


def _cpu_if_cuda(value: Any) -> Any:
    """Return the CPU for a CUDA device or its name, and anything else as it is."""
    is_cuda = isinstance(value, str | torch.device) and str(value).startswith("cuda")
    return torch.device("cpu") if is_cuda else value


def _make_idle_call() -> Callable[..., None]:
    """Return a function that does nothing; torch's compiler refuses one under two names."""
    return lambda *_: None


def use_cpu_for_cuda() -> None:
    """Let everything that asks for a GPU get the CPU, in the rest of this process."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for name in CUDA_TENSOR_TYPE_NAMES:
        setattr(torch.cuda, name, getattr(torch, name))
    for name in GPU_CHOICE_CALL_NAMES:
        setattr(torch.cuda, name, _make_idle_call())
    _CudaAsCpu().__enter__()
