"""The devices that numbers can be on."""

from functools import cache

import torch

from transformer.support.errors import UserError, short_repr


def require_usable_device(device: torch.device | str) -> torch.device:
    """Return a device by its name; a UserError where it is not there, or holds no numbers."""
    try:
        return _tried_device(device)
    except (RuntimeError, AssertionError, TypeError) as error:
        lines = str(error).splitlines()
        reason = lines[0] if lines else ""
        message = f"device is {short_repr(device)} ({reason})"
        raise UserError(f"{message}: give 'cpu', or one here") from error


@cache
def _tried_device(device: torch.device | str) -> torch.device:
    """Return a device that a number was put on, which is done once."""
    torch_device = torch.device(device)
    torch.zeros(1, device=torch_device).item()
    return torch_device
