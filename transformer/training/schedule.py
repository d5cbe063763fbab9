"""The learning rate: the paper's schedule (§5.3), and one that falls to 0."""

from transformer.config import Decay, TrainingConfig
from transformer.support.errors import UserError


def learning_rate(step: int, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Compute the rate of one step (§5.3, Eq. 3).

    It rises in proportion to the step until `warmup_steps`, where it reaches
    `factor * (d_model * warmup_steps) ** -0.5`, then falls as `step ** -0.5`.

    Args:
        step: Number of the update, from 1.
        d_model: Width of the model: wider models learn more slowly.
        warmup_steps: Steps of rising rate; 4000 in the paper.
        factor: Multiplies the whole curve; 1 in the paper.

    Returns:
        The learning rate.

    Raises:
        UserError: a count is under 1.
    """
    for name, value in (("step", step), ("d_model", d_model), ("warmup_steps", warmup_steps)):
        if value < 1:
            raise UserError(f"{name} is {value}: give 1 or more")
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


def linear_decay_rate(
    step: int, steps: int, d_model: int, warmup_steps: int, factor: float = 1.0
) -> float:
    """Compute the rate of one step of a schedule that ends at 0.

    Not in the paper: it rises as the paper's does, to the same peak, then falls in a straight
    line, which reaches 0 at the last step. That asks for the number of steps beforehand.

    Args:
        step: Number of the update, from 1.
        steps: Number of the last one, above `warmup_steps`.
        d_model, warmup_steps, factor: As `learning_rate` has them.

    Returns:
        The learning rate.

    Raises:
        UserError: a count is under 1, no step is left to fall in, or the step is past the last.
    """
    if steps <= warmup_steps:
        raise UserError(f"steps is {steps}: give more than the {warmup_steps} of warm-up")
    if step > steps:
        raise UserError(f"step is {step}, and the rate falls to 0 at {steps}: give no later one")
    rising = learning_rate(min(step, warmup_steps), d_model, warmup_steps, factor)
    return rising * min(1.0, (steps - step) / (steps - warmup_steps))


def free_setting(config: TrainingConfig) -> str:
    """Name the setting that a resumed run may have another value of than before.

    Under the paper's schedule these are the steps: more of them change no rate of those that
    were made. A line to 0 is drawn for so many and no other number; then there is none, "".
    """
    return "" if config.decay == Decay.LINEAR else "steps"
