"""Learning rates and candidate scores are those that were asked for (§5.3, §6.1)."""

import contextlib
import math
from collections.abc import Callable
from itertools import pairwise

from attention_laws.law import assert_not_none, law
from attention_laws.model_state import hooks_removed_afterwards
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)
from attention_laws.subject import Subject

# The first laws that train: they count the steps from the first.
LAW_MODULE_SORT_KEY = 100
NUM_TRAINING_STEPS = 5
# A warm-up is tried at eighths of it.
MIN_WARMUP_STEPS = 8
# Share of the peak that the rate may lose in one step after it, where the next steps lose little: a
# cosine that began beneath the warm-up, as in timm, has lost as much if a third of it is warm-up.
MAX_DROP_AFTER_WARMUP = 0.25
# A step by which every training has begun.
MAX_STEP_OFFSET_TRIED = 10_000


def paper_learning_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """Return the paper's learning rate of one step, counted from 1 (§5.3, Eq. 3)."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


@law("schedule", compares=False)
def learning_rate_is_positive(subject: Subject) -> Finding:
    """The schedule returns a rate above 0 from step 1 on.

    Means: steps are counted from 0, and the rate rises from nothing
    Look: at which number the first step has
    """
    schedule = assert_not_none(subject.adapter.schedule)
    rates = {step: float(schedule(step)) for step in (1, 2, 3, 10, 100)}
    for step, rate in rates.items():
        if not math.isfinite(rate) or rate < 0 or (rate == 0 and step > 1):
            return broken_finding(f"the rate of step {step} is {rate}")
    if rates[1] == 0:
        return warned_finding(
            f"the rate of step 1 is 0, of step 2 {rates[2]:.2g}: the first is lost"
        )
    return kept_finding(f"from {rates[1]:.2g} at step 1 to {rates[100]:.2g} at step 100")


@law("schedule", "d_model", "warmup_steps", compares=False)
def schedule_matches_paper(subject: Subject) -> Finding:
    """The schedule is the paper's (§5.3, Eq. 3), for this width and warm-up.

    Means: a power is wrong, steps are counted from 0, or min has become max
    Look: at the formula: d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)
    """
    schedule, d_model = (
        assert_not_none(subject.adapter.schedule),
        assert_not_none(subject.adapter.d_model),
    )
    warmup = assert_not_none(subject.adapter.warmup_steps)
    steps = {1, 2, 3, warmup // 2, warmup - 1, warmup, warmup + 1, 4 * warmup} - {0}
    ratios = {
        step: schedule(step) / paper_learning_rate(step, d_model, warmup) for step in sorted(steps)
    }
    ratio = ratios[4 * warmup]
    for step in ratios:
        if not math.isclose(ratios[step], ratio, rel_tol=1e-6):
            expected = ratio * paper_learning_rate(step, d_model, warmup)
            seen = f"the rate of step {step} is {schedule(step):.4g}, by Eq. 3 {expected:.4g}"
            return broken_finding(f"{seen} with d_model {d_model} and {warmup} steps of warm-up")
    if any(math.isclose(ratio, d_model**power, rel_tol=1e-6) for power in (0.5, -0.5)):
        return broken_finding(
            f"the rates are Eq. 3's times {ratio:.4g}: the power of d_model is wrong"
        )
    times = "" if math.isclose(ratio, 1, rel_tol=1e-6) else f", times {ratio:.4g}"
    return kept_finding(f"Eq. 3 with d_model {d_model} and {warmup} steps of warm-up{times}")


@law("schedule", "warmup_steps", compares=False)
def schedule_rises_then_falls(subject: Subject) -> Finding:
    """The rate rises during the warm-up, and never above its end afterwards (§5.3).

    Means: the warm-up is missing or upside down, or what follows it begins elsewhere
    Look: at the rate of the step before the warm-up's end, and of the two after it
    """
    schedule = assert_not_none(subject.adapter.schedule)
    warmup = assert_not_none(subject.adapter.warmup_steps)
    if warmup < MIN_WARMUP_STEPS:
        return not_tried_finding(f"{warmup} steps of warm-up are too few to tell")
    rising = [float(schedule(max(1, warmup * i // 8))) for i in range(9)]
    if any(later < earlier * (1 - 1e-6) for earlier, later in pairwise(rising)):
        return broken_finding(f"the rate falls in the warm-up: {_format_learning_rates(rising)}")
    if rising[-1] <= rising[0]:
        return broken_finding(f"the rate does not rise in {warmup} steps of warm-up: {rising[0]}")
    peak = rising[-1]
    after = [float(schedule(warmup + 2))]
    # A schedule may refuse steps after its end.
    with contextlib.suppress(ValueError, ZeroDivisionError, IndexError):
        for quarters in (5, 6, 8, 12, 20, 40):
            after.append(float(schedule(warmup * quarters // 4)))
    seen = f"the rate is {peak:.3g} at the end of the warm-up, then {_format_learning_rates(after)}"
    # Steps may be counted from 0, so that the peak comes a step later, and is higher by as much as
    # the last step of the warm-up, which may be steeper at its end.
    last_rise = max(peak / warmup, peak - float(schedule(warmup - 1)))
    if max(after) > peak + 1.5 * last_rise:
        return broken_finding(f"{seen}: it rises above it")
    if after[0] < peak / 2 or _drops_in_one_step(schedule, warmup):
        return broken_finding(f"{seen}: it drops at once")
    if any(later > earlier * (1 + 1e-6) for earlier, later in pairwise(after)):
        return warned_finding(f"{seen}: it rises again")
    return kept_finding(seen)


def _drops_in_one_step(schedule: Callable[[int], float], warmup: int) -> bool:
    """Return whether the rate loses much in a step after the warm-up, and little in the next."""
    rates = []
    # A schedule may refuse steps after its end.
    with contextlib.suppress(ValueError, ZeroDivisionError, IndexError):
        for step in range(warmup, warmup + 5):
            rates.append(float(schedule(step)))
    drops = [(earlier - later) / max(rates) for earlier, later in pairwise(rates)]
    return any(
        drop > MAX_DROP_AFTER_WARMUP
        and all(abs(next_drop) < drop / 4 for next_drop in drops[i + 1 :])
        for i, drop in enumerate(drops[:2])
    )


@law("schedule", "schedule_rates", compares=False)
def schedule_has_rates_told(subject: Subject) -> Finding:
    """The schedule has the rates that were told for some steps, such as its peak and its end.

    Means: the peak or the end is another, or what leads from one to the other takes another time
    Look: at the formula of the schedule, and at the number of all steps in it
    """
    schedule = assert_not_none(subject.adapter.schedule)
    told = assert_not_none(subject.adapter.schedule_rates)
    for step, expected in told.items():
        rate = float(schedule(step))
        if not math.isclose(rate, expected, rel_tol=1e-3, abs_tol=1e-12):
            return broken_finding(
                f"the rate of step {step} is {rate:.4g}, and {expected:.4g} is told"
            )
    return kept_finding(f"the rates of steps {', '.join(map(str, told))} are those that are told")


@law("candidate_score", compares=False)
def length_penalty_does_not_favor_shorter(subject: Subject) -> Finding:
    """Of two equally probable candidates the longer is not scored below the shorter.

    Means: the penalty has the wrong sign, or multiplies where it should divide: sums are negative
    Look: at the formula of the score, with -2.0 in it
    """
    score, alpha = assert_not_none(subject.adapter.candidate_score), subject.adapter.alpha
    exponent = subject.adapter.length_exponent
    try:
        float(score(-2.0, 4) + score(-2.0, 12))
    except (TypeError, ValueError, ArithmeticError) as error:
        return broken_finding(f"-2.0 nats over 4 or 12 tokens have no score: {error}")
    for log_prob in (-2.0, -12.0):
        shorter, longer = score(log_prob, 4), score(log_prob, 12)
        if longer < shorter - 1e-9:
            seen = f"{log_prob} nats over 12 tokens score {longer:.3f}"
            return broken_finding(f"{seen}, less than over 4, {shorter:.3f}")
    for length in (4, 12):
        if not score(-2.0, length) > score(-12.0, length):
            return broken_finding(
                f"of two candidates of {length} tokens the less probable scores higher"
            )
    if alpha is not None:
        ratio, expected = score(-2.0, 12) / score(-2.0, 4), ((5 + 4) / (5 + 12)) ** alpha
        if abs(ratio / expected - 1) > 1e-6:
            seen = f"12 tokens have {ratio:.4g} of the score of 4"
            return broken_finding(f"{seen}; by §6.1 with {alpha} it is {expected:.4g}")
    if exponent is not None:
        ratio, expected = score(-2.0, 12) / score(-2.0, 4), (4 / 12) ** exponent
        if abs(ratio / expected - 1) > 1e-6:
            seen = f"12 tokens have {ratio:.4g} of the score of 4"
            return broken_finding(f"{seen}; with a power of {exponent} it is {expected:.4g}")
    return kept_finding("of equally probable candidates the longer is not scored below the shorter")


@law("schedule", "optimizer", "train_step", compares=False)
def steps_use_scheduled_learning_rate(subject: Subject) -> Finding:
    """Step k uses the learning rate that the schedule has for step k.

    Means: the scheduler is stepped twice, once an epoch, before the update or never, or from 0
    Look: at where the rate is set, and how often
    """
    adapter = subject.adapter
    optimizer, train_step = assert_not_none(adapter.optimizer), assert_not_none(adapter.train_step)
    # Adam remembers how many steps were made.
    step_counts = [state["step"] for state in optimizer.state.values() if "step" in state]
    done = int(max(step_counts, default=0))
    rates_by_step: list[list[float]] = []

    def record(*_: object) -> None:
        rates_by_step[-1].append(float(optimizer.param_groups[0]["lr"]))

    with hooks_removed_afterwards([optimizer.register_step_pre_hook(record)]):
        for _ in range(NUM_TRAINING_STEPS):
            rates_by_step.append([])
            train_step(*subject.draw_batch())
    if not all(rates_by_step):
        reason = "a train_step does not step this optimizer"
        return not_tried_finding(f"{reason}: see `train_step_updates_all_weights`")
    used = [rates[0] for rates in rates_by_step]
    if _follows_schedule(subject, used, done):
        last_step = done + NUM_TRAINING_STEPS
        seen = f"{NUM_TRAINING_STEPS} steps use the rates of steps {done + 1} to {last_step}"
        return kept_finding(seen)
    seen = f"steps {done + 1}, {done + 2}, ... use the rates {_format_learning_rates(used)}"
    seen += f"; the schedule has {_format_learning_rates(_scheduled_learning_rates(subject, done))}"
    return _judge_off_schedule_rates(subject, used, done, seen)


def _judge_off_schedule_rates(subject: Subject, used: list[float], done: int, seen: str) -> Finding:
    """Return broken, or warned if the rates are right for a training that began before.

    A counter of steps that cannot be seen may have begun earlier, but it goes on by ones.
    """
    adapter = subject.adapter
    later = range(done + 1, done + MAX_STEP_OFFSET_TRIED)
    before = next((n for n in later if _follows_schedule(subject, used, n)), None)
    # One step too late from the very first is no training that began before.
    is_off_by_one = adapter.untrained and before == done + 1
    if before is not None and not adapter.stateful and not is_off_by_one:
        return warned_finding(f"{seen}: right if {before} steps were made before (see `stateful`)")
    return broken_finding(seen)


def _scheduled_learning_rates(subject: Subject, done: int) -> list[float]:
    """Return the schedule's rates after `done` steps; NaN for a step that it refuses."""
    rates = [math.nan] * NUM_TRAINING_STEPS
    for i in range(NUM_TRAINING_STEPS):
        with contextlib.suppress(ValueError, ZeroDivisionError):
            rates[i] = float(assert_not_none(subject.adapter.schedule)(done + 1 + i))
    return rates


def _follows_schedule(subject: Subject, used: list[float], done: int) -> bool:
    scheduled = _scheduled_learning_rates(subject, done)
    return all(math.isclose(x, y, rel_tol=1e-5) for x, y in zip(used, scheduled, strict=True))


def _format_learning_rates(rates: list[float]) -> str:
    return ", ".join(f"{rate:.3g}" for rate in rates)
