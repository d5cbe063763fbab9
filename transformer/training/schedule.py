"""The learning rate: it rises, then falls with the inverse square root of the step (§5.3)."""

from transformer.config import TrainingConfig
from transformer.support.checks import MIN_POSITIVE, check_number


def configured_learning_rate(step: int, d_model: int, config: TrainingConfig) -> float:
    """Return the learning rate of a step, from 1: a fixed one if the config has it, or §5.3's."""
    if config.learning_rate is not None:
        return config.learning_rate
    return learning_rate(step, d_model, config.warmup_steps, config.learning_rate_factor)


def learning_rate(step: int, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Compute the rate of one step (§5.3, Eq. 3); `factor` multiplies the whole curve.

    It rises in proportion to the step (from 1) until `warmup_steps`, 4000 in the paper, where it
    reaches `factor * (d_model * warmup_steps) ** -0.5`, then falls as `step ** -0.5`.

    Raises:
        UserError: a count is under 1, or the factor is not a finite number above 0.
    """
    for name, value in (("step", step), ("d_model", d_model), ("warmup_steps", warmup_steps)):
        check_number(name, value, 1, integer=True)
    check_number("factor", factor, MIN_POSITIVE)
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))
