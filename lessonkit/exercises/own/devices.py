"""Whether a class can be moved to another device, with all that it keeps (not in the paper)."""

from typing import Any

from torch import Tensor, nn

from lessonkit.exercises.own.gradients import evaluate_case_code
from lessonkit.exercises.rules import BrokenRuleError

# Every machine has it: its tensors have a shape, and no numbers.
OTHER_DEVICE = "meta"
# What PyTorch says of tensors on two devices.
TORCH_DEVICE_MISMATCH_PHRASES = ("device cpu", "same device")


def raise_unless_usable_on_another_device(
    code: str, mine: nn.Module, inputs: dict[str, Any]
) -> None:
    """Refuse a class that keeps a tensor which stays behind when the class is moved.

    Code that looks at numbers fails on this device too; that is no fault.

    Raises:
        BrokenRuleError: tensors of two devices meet.
    """
    moved_inputs = {
        name: value.to(OTHER_DEVICE) if isinstance(value, Tensor) else value
        for name, value in inputs.items()
    }
    try:
        evaluate_case_code(code, mine.to(OTHER_DEVICE), moved_inputs)
    except Exception as error:
        if any(clause in str(error) for clause in TORCH_DEVICE_MISMATCH_PHRASES):
            raise BrokenRuleError(
                "moved to another device, such as a GPU, it leaves a tensor on the CPU: "
                "keep it with register_buffer, and make new ones with device=ids.device"
            ) from error
