"""A stand-in for CUDA graphs that needs no GPU: it records a step's operations and repeats them.

As in a CUDA graph, the same operations come again on the same tensors: a number that Python had at
the recording stays what it was, and Python does not run. What no graph can record is refused. It
cannot show what the GPU's memory, streams and kernels do.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from transformer.training.cuda_graphs import Step, recording_problem


class CpuStepRecorder:
    """A `StepRecorder`; it counts what it did."""

    def __init__(self) -> None:
        self.num_runs = self.num_recordings = self.num_replays = 0

    def run(self, step: Step) -> None:
        """Carry out a step, operation by operation."""
        self.num_runs += 1
        step()

    def record(self, step: Step) -> Step:
        """Record a step, and return what repeats its operations.

        A GPU does not carry out what it records. Here it is carried out, and so the first replay
        does nothing.
        """
        self.num_recordings += 1
        with _Operations() as operations:
            step()
        replays = 0

        def replay() -> None:
            nonlocal replays
            replays += 1
            self.num_replays += 1
            if replays > 1:
                operations.repeat()

        return replay


class _Operations(TorchDispatchMode):
    """The operations carried out inside, with the tensors that they read and wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out an operation, and note it."""
        result = func(*args, **(kwargs or {}))
        problem = recording_problem(func, args, kwargs or {}, result)
        assert not problem, f"{func} {problem}"
        self.calls.append((func, args, kwargs or {}, result))
        return result

    @torch.no_grad()
    def repeat(self) -> None:
        """Carry out the operations again, and write the results where they were before."""
        for func, args, kwargs, result in self.calls:
            again = func(*args, **kwargs)
            before_and_now = zip(tree_leaves(result), tree_leaves(again), strict=True)
            for before, now in before_and_now:
                # A view, or what was changed in place, is up to date already.
                if isinstance(now, Tensor) and now.data_ptr() != before.data_ptr():
                    before.copy_(now)
