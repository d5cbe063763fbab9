"""What a forward pass keeps in memory for the backward pass. Not in the paper."""

from collections.abc import Callable

from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from transformer.support.signatures import check_argument_types


@check_argument_types
def saved_megabytes(model: nn.Module, forward: Callable[[], object]) -> float:
    """Return the megabytes that a forward pass keeps, without the model's own weights."""
    weights = {weight.data_ptr() for weight in model.parameters()}
    saved: dict[int, Tensor] = {}

    def remember(tensor: Tensor) -> Tensor:
        address = tensor.untyped_storage().data_ptr()
        if address not in weights:
            saved[address] = tensor  # held, so that its address is not used again
        return tensor

    with saved_tensors_hooks(remember, lambda tensor: tensor):
        forward()
    return sum(tensor.untyped_storage().nbytes() for tensor in saved.values()) / 1e6
