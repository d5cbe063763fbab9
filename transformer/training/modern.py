"""What models of today are trained with in place of the paper's Adam and schedule (after 2017).

Not in the paper. Both are arguments of `train`: `optimizer` and `schedule`.
"""

from typing import Any

from torch import nn
from torch.optim import AdamW

from transformer.config import TrainingConfig
from transformer.support.checks import MIN_POSITIVE, check_number
from transformer.support.errors import require
from transformer.support.signatures import check_argument_types

ADAMW_BETA1 = 0.9
WEIGHT_DECAY = 0.1  # of a matrix, in learning rates a step
DECAY_SHARE = 0.2  # of a run's steps, at its end, in which the learning rate falls to 0


@check_argument_types
def adamw(model: nn.Module, config: TrainingConfig, weight_decay: float = WEIGHT_DECAY) -> AdamW:
    """Return Adam with decoupled weight decay (Loshchilov and Hutter 2019, arXiv 1711.05101).

    Matrices decay, embeddings too; norms and biases do not. Give it to `train` with
    `optimizer=partial(adamw, config=config)`.
    """
    check_number("weight_decay", weight_decay, 0, 1)
    parameters = list(model.parameters())
    groups: list[dict[str, Any]] = [
        {"params": [weight for weight in parameters if weight.ndim >= 2]},
        {"params": [weight for weight in parameters if weight.ndim < 2], "weight_decay": 0.0},
    ]
    return AdamW(
        [group for group in groups if group["params"]],
        lr=0.0,
        betas=(ADAMW_BETA1, config.beta2),
        eps=config.epsilon,
        weight_decay=weight_decay,
        fused=True,
    )


def warmup_stable_decay_rate(
    step: int, steps: int, warmup_steps: int, peak: float, decay_share: float = DECAY_SHARE
) -> float:
    """Compute the learning rate of a step, from 1: it rises, stays, and falls to 0 at the end.

    It rises in a straight line to the peak at `warmup_steps`, stays there, and falls in a straight
    line in the last `decay_share` of the steps (Hu et al. 2024, arXiv 2404.06395). How many steps
    there are need be known only when the fall begins.

    Raises:
        UserError: the rise and the fall take more than `steps`, or the step comes after them.
    """
    for name, value in (("step", step), ("steps", steps), ("warmup_steps", warmup_steps)):
        check_number(name, value, 1, integer=True)
    check_number("peak", peak, MIN_POSITIVE)
    check_number("decay_share", decay_share, MIN_POSITIVE, 1)
    decay_steps = max(1, round(decay_share * steps))
    require(
        warmup_steps + decay_steps <= steps,
        f"{warmup_steps} warmup_steps and {decay_steps} of decay are more than {steps} steps: give "
        f"fewer warmup_steps, a smaller decay_share, or {warmup_steps + decay_steps} steps or more",
    )
    require(step <= steps, f"step is {step}, and the rate falls to 0 at {steps}: give no later one")
    return peak * min(step / warmup_steps, 1.0, (steps - step) / decay_steps)
