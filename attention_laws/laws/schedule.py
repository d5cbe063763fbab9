"""The learning rate is the one that was asked for, from the first step on (§5.3)."""

import math

from attention_laws.errors import UserError
from attention_laws.law import Subject, law, needed
from attention_laws.laws.parameters import batch
from attention_laws.report import Finding, broken, kept, not_tried, warned
from attention_laws.untouched import hooked

STEPS = 5
LATEST = 10_000  # a step that is past every start


def learning_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """Compute the paper's rate of one step (§5.3, Eq. 3), the measure of every other."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


@law(
    says="The schedule gives a rate above 0 from step 1 on.",
    means="steps are counted from 0, and the rate rises from nothing",
    look="at which number the first step has",
    needs=("schedule",),
    compares=False,
)
def rate_above_zero(subject: Subject) -> Finding:
    """Ask for the rates of the first steps."""
    schedule = needed(subject.adapter.schedule)
    rates = {step: float(schedule(step)) for step in (1, 2, 3, 10, 100)}
    for step, rate in rates.items():
        if not math.isfinite(rate) or rate < 0 or (rate == 0 and step > 1):
            return broken(f"the rate of step {step} is {rate}")
    if rates[1] == 0:
        return warned(
            f"the rate of step 1 is 0, of step 2 {rates[2]:.2g}: the first changes nothing"
        )
    return kept(f"from {rates[1]:.2g} at step 1 to {rates[100]:.2g} at step 100")


@law(
    says="The schedule is the paper's (§5.3, Eq. 3), for this width and warm-up.",
    means="a power is wrong, steps are counted from 0, or min has become max",
    look="at the formula: d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)",
    needs=("schedule", "d_model", "warmup_steps"),
    compares=False,
)
def schedule_of_paper(subject: Subject) -> Finding:
    """Compare with Eq. 3; the whole of it may be multiplied."""
    schedule, d_model = needed(subject.adapter.schedule), needed(subject.adapter.d_model)
    warmup = needed(subject.adapter.warmup_steps)
    steps = sorted(
        {1, 2, 3, max(warmup // 2, 1), max(warmup - 1, 1), warmup, warmup + 1, 4 * warmup}
    )
    factors = {step: schedule(step) / learning_rate(step, d_model, warmup) for step in steps}
    factor = factors[4 * warmup]
    for step in steps:
        if not math.isclose(factors[step], factor, rel_tol=1e-6):
            wanted = factor * learning_rate(step, d_model, warmup)
            return broken(
                f"the rate of step {step} is {schedule(step):.4g}, where Eq. 3 with d_model "
                f"{d_model} and {warmup} steps of warm-up gives {wanted:.4g}"
            )
    if any(math.isclose(factor, d_model**power, rel_tol=1e-6) for power in (0.5, -0.5)):
        return broken(f"the rates are Eq. 3's times {factor:.4g}: the power of d_model is wrong")
    times = "" if math.isclose(factor, 1, rel_tol=1e-6) else f", times {factor:.4g}"
    return kept(f"Eq. 3 with d_model {d_model} and {warmup} steps of warm-up{times}")


@law(
    says="Step k is made at the rate that the schedule has for step k.",
    means="the scheduler is stepped twice, once an epoch, before the first update, or never; "
    "or it counts from 0",
    look="at where the rate is set, and how often",
    needs=("schedule", "optimizer", "train_step"),
    compares=False,
)
def rates_used(subject: Subject) -> Finding:
    """Note the rate that each update is made with."""
    adapter = subject.adapter
    optimizer, train_step = needed(adapter.optimizer), needed(adapter.train_step)
    done = _updates_done(subject)
    rates: list[list[float]] = []

    def note(*_: object) -> None:
        rates[-1].append(float(optimizer.param_groups[0]["lr"]))

    with hooked([optimizer.register_step_pre_hook(note)]):
        for _ in range(STEPS):
            rates.append([])
            train_step(*batch(subject))
    if not all(rates):
        return not_tried("a train_step does not step this optimizer: see `all_move`")
    used = [each[0] for each in rates]
    if _agree(subject, used, done):
        return kept(f"{STEPS} steps are made at the rates of steps {done + 1} to {done + STEPS}")
    seen = (
        f"steps {done + 1}, {done + 2}, ... are made at {_written(used)}, where the schedule "
        f"says {_written(_asked(subject, done))}"
    )
    # A count of steps that cannot be seen may have begun before; but it goes on by ones.
    later = next((n for n in range(done + 1, done + LATEST) if _agree(subject, used, n)), None)
    late = adapter.fresh and later == done + 1  # by one, from the very first
    if later is not None and not adapter.stateful and not late:
        return warned(f"{seen}: right if {later} steps were made before (see `stateful`)")
    return broken(seen)


def _updates_done(subject: Subject) -> int:
    """Give how many updates the optimizer remembers, as Adam does."""
    states = needed(subject.adapter.optimizer).state.values()
    return max((int(each["step"]) for each in states if "step" in each), default=0)


def _asked(subject: Subject, done: int) -> list[float]:
    """Give the schedule's rates after `done` steps; NaN where it refuses."""
    schedule = needed(subject.adapter.schedule)
    rates = []
    for step in range(done + 1, done + STEPS + 1):
        try:
            rates.append(float(schedule(step)))
        except (UserError, ValueError, ZeroDivisionError):
            rates.append(math.nan)
    return rates


def _agree(subject: Subject, used: list[float], done: int) -> bool:
    asked = _asked(subject, done)
    return all(math.isclose(*pair, rel_tol=1e-5) for pair in zip(used, asked, strict=True))


def _written(rates: list[float]) -> str:
    return ", ".join(f"{rate:.3g}" for rate in rates)


LAWS = (rate_above_zero, schedule_of_paper, rates_used)
