"""What an exercise may forbid where the value alone does not tell, watched while an answer runs.

Not in the paper.
"""

import contextlib
import sys
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode


class BrokenRuleError(Exception):
    """An answer has done what its exercise forbids; the message is a clause that begins "it"."""


class SmallTensors(TorchFunctionMode):
    """Let no tensor become large, nor all that are held at once.

    Args:
        largest: Numbers in one tensor.
        together: Numbers in all tensors that were made and are still held.
    """

    def __init__(self, largest: int, together: int) -> None:
        super().__init__()
        self.largest, self.together = largest, together
        self._made: list[weakref.ref[Tensor]] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function of PyTorch, and weigh what it gives."""
        result = func(*args, **(kwargs or {}))
        for each in result if isinstance(result, tuple | list) else (result,):
            if isinstance(each, Tensor):
                self._made.append(weakref.ref(each))
                self._weigh()
        return result

    def _weigh(self) -> None:
        held = [tensor for made in self._made if (tensor := made()) is not None]
        self._made = [weakref.ref(tensor) for tensor in held]
        storages = {each.untyped_storage().data_ptr(): each for each in held}  # views count once
        sizes = [x.untyped_storage().nbytes() // x.element_size() for x in storages.values()]
        if max(sizes) > self.largest:
            raise BrokenRuleError(f"it makes a tensor of {max(sizes)} numbers at once")
        if sum(sizes) > self.together:
            raise BrokenRuleError(f"it holds {sum(sizes)} numbers in tensors at once")


class WithoutFunctions(TorchFunctionMode):
    """Let some functions of PyTorch not be called.

    Args:
        forbidden: The functions.
    """

    def __init__(self, *forbidden: Any) -> None:
        super().__init__()
        self.forbidden = forbidden

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function of PyTorch, if it may be called."""
        if func in self.forbidden:
            raise BrokenRuleError(f"it calls PyTorch's `{func.__name__}`")
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def without(module: str) -> Iterator[None]:
    """Let no function of a module be called.

    Args:
        module: Its full name.
    """

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_globals.get("__name__") == module:
            name = frame.f_code.co_name
            raise BrokenRuleError(f"it calls `{name}` of {module}")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)
