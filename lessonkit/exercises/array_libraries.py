"""PyTorch and NumPy where they are installed; in a browser neither is, and no value is an array.

Not in the paper. What judges an answer takes both from here, and so runs without them. An exercise
that needs PyTorch imports it itself.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

__all__ = ["Module", "NumpyScalar", "Tensor", "ndarray", "torch"]

if TYPE_CHECKING or find_spec("torch"):
    import torch
    from torch import Tensor
    from torch.nn import Module
else:
    torch = None

    class Tensor:
        """Have no instance."""

    class Module:
        """Have no instance."""


if TYPE_CHECKING or find_spec("numpy"):
    from numpy import generic as NumpyScalar
    from numpy import ndarray
else:

    class ndarray:  # noqa: N801 (NumPy's name)
        """Have no instance."""

    class NumpyScalar:
        """Have no instance."""
