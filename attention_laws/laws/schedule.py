"""Rates and ranks are those that were asked for: §5.3 from the first step on, and §6.1."""

import contextlib
import math

from attention_laws.law import Subject, law, needed
from attention_laws.laws.parameters import batch
from attention_laws.report import Finding, broken, kept, not_tried, warned
from attention_laws.untouched import hooked

STEPS = 5
LATEST = 10_000  # a step that is past every start


def learning_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """Compute the paper's rate of one step (§5.3, Eq. 3), the measure of every other."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


@law("schedule", compares=False)
def learning_rate_is_positive(subject: Subject) -> Finding:
    """The schedule gives a rate above 0 from step 1 on.

    Means: steps are counted from 0, and the rate rises from nothing
    Look: at which number the first step has
    """
    schedule = needed(subject.adapter.schedule)
    rates = {step: float(schedule(step)) for step in (1, 2, 3, 10, 100)}
    for step, rate in rates.items():
        if not math.isfinite(rate) or rate < 0 or (rate == 0 and step > 1):
            return broken(f"the rate of step {step} is {rate}")
    if rates[1] == 0:
        return warned(f"the rate of step 1 is 0, of step 2 {rates[2]:.2g}: the first is lost")
    return kept(f"from {rates[1]:.2g} at step 1 to {rates[100]:.2g} at step 100")


@law("schedule", "d_model", "warmup_steps", compares=False)
def schedule_matches_paper(subject: Subject) -> Finding:
    """The schedule is the paper's (§5.3, Eq. 3), for this width and warm-up.

    Means: a power is wrong, steps are counted from 0, or min has become max
    Look: at the formula: d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)
    """
    schedule, d_model = needed(subject.adapter.schedule), needed(subject.adapter.d_model)
    warmup = needed(subject.adapter.warmup_steps)
    around = {warmup // 2, warmup - 1, warmup, warmup + 1, 4 * warmup}
    steps = sorted({1, 2, 3} | around - {0})
    factors = {step: schedule(step) / learning_rate(step, d_model, warmup) for step in steps}
    factor = factors[4 * warmup]
    for step in steps:
        if not math.isclose(factors[step], factor, rel_tol=1e-6):
            wanted = factor * learning_rate(step, d_model, warmup)
            said = f"the rate of step {step} is {schedule(step):.4g}, where Eq. 3 has {wanted:.4g}"
            return broken(f"{said} with d_model {d_model} and {warmup} steps of warm-up")
    if any(math.isclose(factor, d_model**power, rel_tol=1e-6) for power in (0.5, -0.5)):
        return broken(f"the rates are Eq. 3's times {factor:.4g}: the power of d_model is wrong")
    times = "" if math.isclose(factor, 1, rel_tol=1e-6) else f", times {factor:.4g}"
    return kept(f"Eq. 3 with d_model {d_model} and {warmup} steps of warm-up{times}")


@law("rank", compares=False)
def length_penalty_does_not_favor_shorter(subject: Subject) -> Finding:
    """Of two equally probable candidates the longer is not ranked below the shorter.

    Means: the penalty has the wrong sign, or multiplies where it should divide: sums are negative
    Look: at the formula of the score, with -2.0 in it
    """
    rank, alpha = needed(subject.adapter.rank), subject.adapter.alpha
    try:
        float(rank(-2.0, 4) + rank(-2.0, 12))
    except (TypeError, ValueError, ArithmeticError) as error:
        return broken(f"-2.0 nats over 4 or 12 tokens have no rank: {error}")
    for log_prob in (-2.0, -12.0):
        shorter, longer = rank(log_prob, 4), rank(log_prob, 12)
        if longer < shorter - 1e-9:
            first, second = f"{longer:.3f} over 12 tokens", f"{shorter:.3f} over 4"
            return broken(f"{log_prob} nats are ranked {first}, below {second}")
    for length in (4, 12):
        if not rank(-2.0, length) > rank(-12.0, length):
            return broken(f"of two candidates of {length} tokens the less probable is ranked first")
    if alpha is not None:
        ratio, wanted = rank(-2.0, 12) / rank(-2.0, 4), ((5 + 4) / (5 + 12)) ** alpha
        if abs(ratio / wanted - 1) > 1e-6:
            said = f"12 tokens have {ratio:.4g} of the rank of 4"
            return broken(f"{said}; §6.1 with {alpha}: {wanted:.4g}")
    return kept("of equally probable candidates the longer is not ranked below the shorter")


@law("schedule", "optimizer", "train_step", compares=False)
def steps_use_scheduled_learning_rate(subject: Subject) -> Finding:
    """Step k is made at the rate that the schedule has for step k.

    Means: the scheduler is stepped twice, once an epoch, before the update or never, or from 0
    Look: at where the rate is set, and how often
    """
    adapter = subject.adapter
    optimizer, train_step = needed(adapter.optimizer), needed(adapter.train_step)
    remembered = [each["step"] for each in optimizer.state.values() if "step" in each]  # by Adam
    done = int(max(remembered, default=0))
    rates: list[list[float]] = []

    def note(*_: object) -> None:
        rates[-1].append(float(optimizer.param_groups[0]["lr"]))

    with hooked([optimizer.register_step_pre_hook(note)]):
        for _ in range(STEPS):
            rates.append([])
            train_step(*batch(subject))
    if not all(rates):
        return not_tried(
            "a train_step does not step this optimizer: see `train_step_updates_all_weights`"
        )
    used = [each[0] for each in rates]
    if _agree(subject, used, done):
        return kept(f"{STEPS} steps are made at the rates of steps {done + 1} to {done + STEPS}")
    seen = f"steps {done + 1}, {done + 2}, ... are made at {_written(used)}"
    seen += f", where the schedule says {_written(_asked(subject, done))}"
    # A count of steps that cannot be seen may have begun before; but it goes on by ones.
    later = next((n for n in range(done + 1, done + LATEST) if _agree(subject, used, n)), None)
    late = adapter.fresh and later == done + 1  # by one, from the very first
    if later is not None and not adapter.stateful and not late:
        return warned(f"{seen}: right if {later} steps were made before (see `stateful`)")
    return broken(seen)


def _asked(subject: Subject, done: int) -> list[float]:
    """Give the schedule's rates after `done` steps; NaN where it refuses."""
    rates = [math.nan] * STEPS
    for place in range(STEPS):
        with contextlib.suppress(ValueError, ZeroDivisionError):
            rates[place] = float(needed(subject.adapter.schedule)(done + 1 + place))
    return rates


def _agree(subject: Subject, used: list[float], done: int) -> bool:
    pairs = zip(used, _asked(subject, done), strict=True)
    return all(math.isclose(*pair, rel_tol=1e-5) for pair in pairs)


def _written(rates: list[float]) -> str:
    return ", ".join(f"{rate:.3g}" for rate in rates)
