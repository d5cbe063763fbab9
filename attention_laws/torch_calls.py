"""Record what any model computes, by intercepting its calls of torch (not in the paper)."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor
from torch.overrides import TorchFunctionMode

from attention_laws.errors import innermost_user_line

PRODUCT_CALL_NAMES = {"matmul", "rmatmul", "bmm", "einsum"}
FUSED_ATTENTION_CALL_NAME = "scaled_dot_product_attention"
MULTI_HEAD_ATTENTION_CALL_NAME = "multi_head_attention_forward"
RECORDED_CALL_NAMES = {
    "softmax",
    "linear",
    FUSED_ATTENTION_CALL_NAME,
    MULTI_HEAD_ATTENTION_CALL_NAME,
    *PRODUCT_CALL_NAMES,
}
# Calls that scale a tensor, and the power to which their second argument enters.
EXPONENTS_BY_SCALING_CALL = {
    "mul": 1,
    "rmul": 1,
    "imul": 1,
    "div": -1,
    "truediv": -1,
    "itruediv": -1,
}
# Calls after which a tensor is still the same multiple of what was computed.
FACTOR_PRESERVING_CALL_NAMES = {
    "view",
    "reshape",
    "transpose",
    "permute",
    "contiguous",
    "unsqueeze",
    "squeeze",
    "flatten",
    "unflatten",
    "expand",
    "clone",
    "movedim",
    "swapaxes",
    "dropout",
}

OutputReplacer = Callable[[int, Tensor], Tensor]


class TorchCall(NamedTuple):
    """One call of torch: its name without underscores, its arguments, its output, its place."""

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any]
    output: Any
    place: str = ""  # the user's file and line


class TorchCallRecorder(TorchFunctionMode):
    """Record the calls of torch in a block.

    `replace_output(number, output)` returns what the call of this number is to return; it is asked
    for linear maps and whole attentions.
    """

    def __init__(self, replace_output: OutputReplacer | None = None) -> None:
        super().__init__()
        self.calls: list[TorchCall] = []
        self.replace_output = replace_output

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        name = getattr(func, "__name__", "").strip("_")
        weights_wanted = options.get("need_weights", True)
        # The weights are asked for in any case, since they are what the laws look at.
        if name == MULTI_HEAD_ATTENTION_CALL_NAME:
            options = {**options, "need_weights": True, "average_attn_weights": False}
        output = func(*args, **options)
        if name in RECORDED_CALL_NAMES:
            output = self._replace_output_if_asked(name, output)
            self.calls.append(TorchCall(name, args, options, output, innermost_user_line()))
        elif isinstance(output, Tensor):
            _attach_scale_factor(name, args, output)
        if name == MULTI_HEAD_ATTENTION_CALL_NAME and not weights_wanted:
            return output[0], None
        return output

    def _replace_output_if_asked(self, name: str, output: Any) -> Any:
        """Return the output of the newest call, replaced if there is something to replace it."""
        if self.replace_output is None:
            return output
        number = len(self.calls)
        if name == "linear":
            return self.replace_output(number, output)
        if name == MULTI_HEAD_ATTENTION_CALL_NAME:
            return self.replace_output(number, output[0]), output[1]
        return output


def _attach_scale_factor(name: str, args: tuple[Any, ...], output: Tensor) -> None:
    """Attach to a tensor the number that it was multiplied by, also through views."""
    if not args or not isinstance(args[0], Tensor):
        return
    factor = accumulated_scale_factor(args[0])
    if name in EXPONENTS_BY_SCALING_CALL and len(args) > 1:
        multiplier = args[1]
        if isinstance(multiplier, Tensor) and multiplier.numel() != 1:
            return
        factor *= float(multiplier) ** EXPONENTS_BY_SCALING_CALL[name]
    elif name not in FACTOR_PRESERVING_CALL_NAMES:
        return
    if factor != 1.0:
        output._laws_factor = factor  # type: ignore[attr-defined]


def accumulated_scale_factor(tensor: Tensor) -> float:
    """Return the number that a tensor was multiplied by since it was computed."""
    return float(getattr(tensor, "_laws_factor", 1.0))
