"""The weights with which classes are checked: the same for every right class (not in the paper)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from lessonkit.exercises.rules import BrokenRuleError


class CheckWeights(NamedTuple):
    """Weights by their names, and which names share a matrix."""

    weights: dict[str, Tensor]
    first_names: dict[str, str]  # of each weight the first name that its matrix has

    @classmethod
    def draw(cls, reference: nn.Module) -> "CheckWeights":
        """Draw weights for a module that is built right."""
        state = reference.state_dict()
        first_of_matrix: dict[int, str] = {}
        for name, weight in state.items():
            first_of_matrix.setdefault(weight.data_ptr(), name)
        first_names = {name: first_of_matrix[weight.data_ptr()] for name, weight in state.items()}
        generator = torch.Generator().manual_seed(3)
        # They are so small that sums, and with them logits, stay near 1: no rounding is enlarged.
        drawn = {
            name: torch.randn(weight.shape, generator=generator) / weight.shape[-1] ** 0.5
            for name, weight in state.items()
        }
        return cls({name: drawn[first] for name, first in first_names.items()}, first_names)

    def load_into(self, module: nn.Module) -> None:
        """Load the weights into a module.

        Raises:
            BrokenRuleError: it has other weights, or other shapes, or shares other matrices.
        """
        state = module.state_dict()
        for name in [*self.weights, *state]:
            if name not in state:
                others = sorted(set(state) - set(self.weights))
                instead = f" (it has {', '.join(others)})" if others else ""
                raise BrokenRuleError(f"it has no weight called {name}{instead}")
            if name not in self.weights:
                raise BrokenRuleError(f"it has a weight {name}, which no trained model brings")
            if state[name].shape != self.weights[name].shape:
                shapes = f"{tuple(state[name].shape)}, not {tuple(self.weights[name].shape)}"
                raise BrokenRuleError(f"the shape of {name} is {shapes}")
        for name, first in self.first_names.items():
            if state[name].data_ptr() != state[first].data_ptr():
                raise BrokenRuleError(f"{name} and {first} should be one matrix (§3.4)")
        module.load_state_dict(self.weights)
