"""A device that is not the CPU and needs no GPU: a tensor made in the wrong place fails on it.

Its tensors say that they are elsewhere and keep their numbers in an inner tensor on the CPU.
What meets a tensor that is not there raises, as on a GPU; a single number may come from anywhere.

Importing this adds the device to PyTorch for good: only in a process of its own.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend(rename="elsewhere")
torch.__future__.set_swap_module_params_on_conversion(True)  # a moved weight stays tied
DEVICE = torch.device("elsewhere", 0)
MOVES = {torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default}


class Elsewhere(Tensor):
    """A tensor on DEVICE."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> "Elsewhere":
        with torch.inference_mode(False):  # its kind of tensor cannot be a view of another kind
            made = Tensor._make_wrapper_subclass(
                cls,
                inner.size(),
                strides=inner.stride(),
                storage_offset=inner.storage_offset(),
                dtype=inner.dtype,
                device=DEVICE,
            )
        made.inner = inner
        return made

    def data_ptr(self) -> int:
        """Where the numbers are: tied weights are known by it."""
        return self.inner.data_ptr()

    def tolist(self) -> Any:
        """Read the numbers."""
        return self.inner.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out an operation on the inner tensors, if all its tensors are here."""
        kwargs = kwargs or {}
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        strays = [each for each in given if not isinstance(each, cls) and each.dim() > 0]
        if strays and func not in MOVES:
            raise RuntimeError(f"{func} is given tensors of {DEVICE} and of {strays[0].device}")
        leaves = kwargs.get("device") is not None and kwargs["device"].type != DEVICE.type
        inside = {key: value for key, value in kwargs.items() if key != "device"}
        result = func(*tree_map(_inner, args), **tree_map(_inner, inside))
        if leaves:
            return result
        known = {id(each.inner): each for each in given if isinstance(each, cls)}

        def put(each: Any) -> Any:
            """Wrap a new tensor; one that was changed in place has its wrapper."""
            if not isinstance(each, Tensor):
                return each
            return known[id(each)] if id(each) in known else cls(each)

        return tree_map(put, result)


def _inner(each: Any) -> Any:
    return each.inner if isinstance(each, Elsewhere) else each


@torch.library.impl("aten::empty.memory_format", "PrivateUse1")
def _empty(size: Any, *, dtype: Any = None, **_: Any) -> Tensor:
    return Elsewhere(torch.empty(size, dtype=dtype))


@torch.library.impl("aten::empty_strided", "PrivateUse1")
def _empty_strided(size: Any, stride: Any, *, dtype: Any = None, **_: Any) -> Tensor:
    return Elsewhere(torch.empty_strided(size, stride, dtype=dtype))


@torch.library.impl("aten::_copy_from", "PrivateUse1")
def _copy_from(source: Tensor, target: Tensor, non_blocking: bool = False) -> Tensor:
    _inner(target).copy_(_inner(source))
    return target
