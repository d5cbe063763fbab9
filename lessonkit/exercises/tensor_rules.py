"""Rules about the calls and tensors of PyTorch that an answer may use (not in the paper)."""

import weakref
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from lessonkit.exercises.rules import BrokenRuleError


class LimitTensorSizes(TorchFunctionMode):
    """Limit the size of every tensor, and of all that are held at once (numbers)."""

    def __init__(self, max_size: int, max_total: int) -> None:
        super().__init__()
        self.max_size, self.max_total = max_size, max_total
        self._results: list[weakref.ref[Tensor]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in result if isinstance(result, tuple | list) else (result,):
            if isinstance(value, Tensor):
                self._results.append(weakref.ref(value))
                self._check_sizes()
        return result

    def _check_sizes(self) -> None:
        held = [tensor for result in self._results if (tensor := result()) is not None]
        self._results = [weakref.ref(tensor) for tensor in held]
        # Views share their storage, which is counted once.
        by_storage = {tensor.untyped_storage().data_ptr(): tensor for tensor in held}
        sizes = [
            tensor.untyped_storage().nbytes() // tensor.element_size()
            for tensor in by_storage.values()
        ]
        if max(sizes) > self.max_size:
            raise BrokenRuleError(f"it makes a tensor of {max(sizes)} numbers at once")
        if sum(sizes) > self.max_total:
            raise BrokenRuleError(f"it holds {sum(sizes)} numbers in tensors at once")


class ForbidFunctions(TorchFunctionMode):
    """Forbid calls of some functions of PyTorch."""

    def __init__(self, *forbidden: Any) -> None:
        super().__init__()
        self.forbidden = forbidden

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in self.forbidden:
            raise BrokenRuleError(f"it calls PyTorch's `{func.__name__}`")
        return func(*args, **(kwargs or {}))
