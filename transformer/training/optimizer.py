"""The paper's optimizer (§5.3), and what a run needs of another one."""

from collections.abc import Iterable
from typing import Any, Protocol

from torch import nn
from torch.optim import Adam

from transformer.config import TrainingConfig

ADAM_BETA1 = 0.9  # Adam's (§5.3)


def paper_adam(parameters: Iterable[nn.Parameter], config: TrainingConfig) -> Adam:
    """Return the paper's optimizer (§5.3); `update` sets its learning rate at each step."""
    return Adam(
        parameters, lr=0.0, betas=(ADAM_BETA1, config.beta2), eps=config.epsilon, fused=True
    )


class SteppingOptimizer(Protocol):
    """What a run needs of an optimizer: one of PyTorch's, or a class of your own."""

    param_groups: list[dict[str, Any]]  # `update` sets "lr" in each

    def zero_grad(self) -> None:
        """Forget the gradients."""

    def step(self) -> None:
        """Change the parameters by their gradients."""

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run goes on from."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from another's state."""
