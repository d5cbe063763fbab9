"""A training step recorded as a CUDA graph, and what keeps a step from being recorded.

Not in the paper. A small model's step is a thousand operations, which a GPU carries out faster than
Python launches them. A CUDA graph launches all that were recorded at once, always the same ones on
the same memory: what changes from step to step has to be in tensors that stay where they are.
"""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from transformer.data.token_budget import TokenBudgetBatches
from transformer.support.devices import require_usable_device
from transformer.support.errors import UserError, require
from transformer.training import processes

Step = Callable[[], None]


class StepRecorder(Protocol):
    """What carries out steps, and records them: `CudaGraphRecorder`, in tests one for the CPU."""

    def run(self, step: Step) -> None:
        """Carry out a step, operation by operation."""

    def record(self, step: Step) -> Step:
        """Record the operations of a step, and return what carries them out again."""


class CudaGraphRecorder:
    """Records steps as CUDA graphs, which share their memory.

    They may, in any order, since a step leaves nothing in its graph's memory that another reads.
    The random numbers of dropout go on from replay to replay: PyTorch registers the device's
    default generator with each graph.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)
        self._pool = torch.cuda.graph_pool_handle()

    def run(self, step: Step) -> None:
        """Carry out a step on the stream that steps are recorded on, as PyTorch asks before it."""
        # That of this device, which need not be the current one.
        current = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            step()
        current.wait_stream(self._stream)

    def record(self, step: Step) -> Step:
        """Record the operations of a step, and return what launches them at once.

        Raises:
            UserError: an operation cannot be recorded, or memory ran out.
        """
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool, stream=self._stream):
                step()
        except RuntimeError as error:
            # If the step failed, ending its recording fails too, and does not say why.
            reason = str(error.__context__ or error).partition("\n")[0]
            message = f"this model's step cannot be recorded as a CUDA graph ({reason})"
            raise UserError(f"{message}: train without --cuda-graphs") from error
        return graph.replay


def make_recorder(device: torch.device | str) -> StepRecorder:
    """Return what records steps on a device; a UserError if it is no CUDA GPU, or none is here."""
    usable = require_usable_device(device)
    require_cuda(usable)
    return CudaGraphRecorder(usable)


def require_cuda(device: torch.device) -> None:
    """Raise a UserError unless a device is a CUDA GPU."""
    require(
        device.type == "cuda",
        f"CUDA graphs need an NVIDIA GPU, and this run is on {device}: leave --cuda-graphs out "
        "(in Python cuda_graphs)",
    )


def reason_for_eager_steps(
    model: nn.Module,
    optimizer: Optimizer,
    batches: Any,
    *,
    micro_tokens: int | None,
    compiled: bool,
) -> str:
    """Return why the steps of a run cannot be recorded, "" if nothing is known against it.

    The arguments are those of `loop.train`.
    """
    reasons = {
        "several processes share each step": processes.world_size() > 1,
        "torch.compile makes the model's operations": compiled,
        "micro_tokens may divide a step into micro-batches": micro_tokens is not None,
        f"{type(batches).__name__} are no TokenBudgetBatches": (
            type(batches) is not TokenBudgetBatches
        ),
        f"{type(optimizer).__name__} is no Adam with fused=True": not all(
            "capturable" in group and group.get("fused") for group in optimizer.param_groups
        ),
        "a replay calls no hooks, and there are some": _has_hooks(model, optimizer),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _has_hooks(model: nn.Module, optimizer: Optimizer) -> bool:
    names = (
        *("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"),
        "_post_accumulate_grad_hooks",
        *("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks"),
    )
    owners = (*model.modules(), *model.parameters(), optimizer)
    return any(getattr(owner, name, None) for owner in owners for name in names)


class RecordingObstacles(TorchDispatchMode):
    """Notes the first operation, of those carried out inside, that no graph can record.

    Such an operation waits for the device to know a number or a size, moves tensors between device
    and host, or draws from a random generator other than the device's default one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first = ""  # in words; "" if there was none

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out an operation."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if not self.first and (problem := recording_problem(func, args, kwargs, result)):
            self.first = f"{func} {problem}"
        return result


def recording_problem(func: Any, args: Any, kwargs: Any, result: Any) -> str:
    """Return why an operation cannot be recorded, "" if it can."""
    given = tree_leaves((args, kwargs))
    tensors = [each for each in (*given, *tree_leaves(result)) if isinstance(each, torch.Tensor)]
    needs_numbers = torch.Tag.data_dependent_output in func.tags
    has_unknown_size = torch.Tag.dynamic_output_shape in func.tags
    if func is torch.ops.aten.index.Tensor:
        # The size is unknown only where a mask chooses; what is chosen from may be boolean.
        indices = [each for each in args[1] if each is not None]
        has_unknown_size = any(index.dtype in (torch.bool, torch.uint8) for index in indices)
    if needs_numbers or has_unknown_size:
        return "waits for the device"
    is_copy = func in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)
    if is_copy and len({tensor.device for tensor in tensors}) > 1:
        return "moves numbers between device and host"
    if any(isinstance(each, torch.Generator) for each in given):
        return "draws from a random generator of its own"
    return ""
