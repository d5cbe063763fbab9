"""A checkpoint holds the state of any optimizer, to the last bit, or says that it cannot."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.helpers.tiny_training import (
    Tiny,
    assert_same_runs,
    run_tiny,
)
from transformer.support.errors import UserError

Patch = pytest.MonkeyPatch


class CountingDescent(torch.optim.Optimizer):
    """Momentum that is corrected by the number of steps, a Python number, as in Adam (§5.3)."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model.parameters(), {"lr": 0.0, "momentum": 0.9})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state |= {"step": 0, "share": 1.0, "mean": torch.zeros_like(parameter)}
                state["step"] += 1
                state["share"] *= group["momentum"]
                state["mean"].lerp_(parameter.grad, 1 - group["momentum"])
                correction = (1 - state["share"]) * state["step"] ** 0.5
                parameter.sub_(state["mean"], alpha=group["lr"] / correction)


def test_an_optimizer_whose_state_has_plain_numbers_resumes_exactly(tmp_path: Path) -> None:
    options: dict[str, Any] = {"optimizer": CountingDescent, "schedule": lambda step: 0.1}
    run_tiny(tmp_path / "1", Tiny(), **options)
    run_tiny(tmp_path / "2", Tiny(), stop_after=7, **options)
    run_tiny(tmp_path / "2", Tiny(), resume=True, **options)
    assert_same_runs(tmp_path / "1", tmp_path / "2")


def test_an_optimizer_whose_state_no_checkpoint_holds_is_refused(tmp_path: Path) -> None:
    class Named(CountingDescent):
        def step(self, closure: Any = None) -> None:
            super().step()
            self.state[self.param_groups[0]["params"][0]]["name"] = "first"

    with pytest.raises(UserError, match="Named keeps 'name' as str, which no checkpoint holds"):
        run_tiny(tmp_path, Tiny(), optimizer=Named)
