"""What is wrong with an answer, measured: where it is right, what it makes of the right value.

Not in the paper. Nothing here is guessed: a sentence says what was so in all the cases that it
names, or what became of cases of which one argument was altered.
"""

import contextlib
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from lessonkit.exercises.array_libraries import Tensor
from lessonkit.exercises.compare import are_identical, format_value, unwrap_scalar
from lessonkit.exercises.number_arrays import all_close, combine, flatten_numbers
from lessonkit.exercises.outcome import CaseArguments, Outcome, describe_difference_safely
from lessonkit.exercises.relations import (
    MIN_CASES_FOR_A_CLAUSE,
    CaseFacts,
    ReturnedAndRight,
    clauses_relating_answer_to_right_value,
    one_sided_error_clause,
)

MAX_CASES_TO_ALTER = 12  # cases of which each argument is altered


class JudgedCase(NamedTuple):
    """What an answer did with a case, and what is wrong with that."""

    args: CaseArguments
    right: Any  # the right value
    outcome: Outcome  # what the answer did
    complaint: str  # what is wrong with that, a clause; "" if nothing is


# It judges other arguments, and raises if they are no case.
AnswerOnArgumentsJudge = Callable[..., JudgedCase]


def describe_pattern_of_error(
    cases: Sequence[JudgedCase], names: Sequence[str], judge_other: AnswerOnArgumentsJudge
) -> str:
    """Describe in a sentence what can be measured of an answer; "" if nothing is clear.

    Args:
        cases: What it did with every case.
        names: Of the arguments.
        judge_other: Judges it on other arguments.
    """
    facts = [dict(_labelled_facts_of_case(case, names)) for case in cases]
    finished = [number for number, case in enumerate(cases) if not case.outcome.stop_cause]
    finished_cases = [cases[number] for number in finished]
    part, pairs = _only_wrong_part_of_values(
        [(case.outcome.value, case.right) for case in finished_cases]
    )
    clauses = [part]
    if relation := next(
        clauses_relating_answer_to_right_value(pairs, [facts[number] for number in finished]), ""
    ):
        stops = len(finished) < len(cases)
        clauses.append(f"where it returns something, {relation}" if stops else relation)
    else:
        clauses.append(_condition_of_right_cases(cases, facts))
        wrong = [pair for pair, case in zip(pairs, finished_cases, strict=True) if case.complaint]
        relation = (
            next(clauses_relating_answer_to_right_value(wrong, []), "")
            if len(wrong) > MIN_CASES_FOR_A_CLAUSE
            else ""
        )
        if relation:
            clauses.append(f"where its value is wrong, {relation}")
    if not any(clauses):
        clauses = [
            _describe_effect_of_alterations(finished_cases, names, judge_other)
            or one_sided_error_clause(pairs)
        ]
    sentence = "; ".join(filter(None, clauses))
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def _labelled_facts_of_case(case: JudgedCase, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield what may count in a case, under what a learner calls it."""
    for name, value in zip(names, case.args, strict=False):
        if isinstance(value, bool | int | float | str):
            yield f"`{name}`", value
        elif isinstance(value, Tensor):
            for axis in range(-value.ndim, 0):
                yield f"`{name}.shape[{axis}]`", value.shape[axis]
            if not value.is_floating_point():
                yield f"`(0 in {name})`", bool((value == 0).any())
        elif isinstance(value, list | tuple | dict):
            items = list(value.values() if isinstance(value, dict) else value)
            yield f"`len({name})`", len(items)
            different = len(set(map(format_value, items)))
            yield f"the number of different ones in `{name}`", different
            if all(isinstance(item, list | tuple) for item in items):
                lengths = len(set(map(len, items)))
                yield f"the number of different lengths in `{name}`", lengths
    right = unwrap_scalar(case.right)
    if right is None or isinstance(right, bool | int | str):
        yield "the right value", right


def _condition_of_right_cases(cases: Sequence[JudgedCase], facts: Sequence[CaseFacts]) -> str:
    """Name the condition under which an answer is always right, and mostly wrong otherwise."""
    largest_share, clause = 0.5, ""
    for label in facts[0]:
        values = [case.get(label, ...) for case in facts]
        if ... in values:
            continue
        for condition, holds in _candidate_conditions(values):
            marks = [
                (holds(value), bool(case.complaint))
                for case, value in zip(cases, values, strict=True)
            ]
            inside = [is_wrong for is_inside, is_wrong in marks if is_inside]
            outside = [is_wrong for is_inside, is_wrong in marks if not is_inside]
            if len(inside) < MIN_CASES_FOR_A_CLAUSE or any(inside):
                continue
            if sum(outside) > largest_share * len(outside):
                largest_share = sum(outside) / len(outside)
                others = f"{sum(outside)} of the {len(outside)} others"
                if all(outside):
                    others = f"all {len(outside)} others"
                clause = (
                    f"your answer is right in all {len(inside)} cases where {label} is "
                    f"{condition}, and wrong in {others}"
                )
    return clause


def _candidate_conditions(values: Sequence[Any]) -> Iterator[tuple[str, Callable[[Any], bool]]]:
    """Yield what can be said of some of the values and not of others."""
    for value in {format_value(value): value for value in values}.values():
        is_value = partial(are_identical, value)
        yield format_value(value), is_value
        yield f"not {format_value(value)}", partial(_is_condition_false_of, is_value)
    if all(type(value) in (int, float) for value in values):
        for low, high in pairwise(sorted(set(values))):
            yield f"{format_value(low)} or less", partial(operator.ge, low)
            yield f"{format_value(high)} or more", partial(operator.le, high)


def _is_condition_false_of(holds: Callable[[Any], bool], value: Any) -> bool:
    return not holds(value)


def _describe_effect_of_alterations(
    cases: Sequence[JudgedCase], names: Sequence[str], judge_other: AnswerOnArgumentsJudge
) -> str:
    """Alter one argument after the other: say which of them an answer does not follow."""
    some = cases[:: len(cases) // MAX_CASES_TO_ALTER + 1]
    followed: list[str] = []
    not_followed: list[str] = []
    for place, name in enumerate(names):
        altered = [
            (case, new)
            for case in some
            for new in _judged_cases_with_argument_altered(case, place, some, judge_other)
        ]
        right = sum(_values_differ(old.right, new.right) for old, new in altered)
        yours = sum(_values_differ(old.outcome.value, new.outcome.value) for old, new in altered)
        if max(yours, right) >= MIN_CASES_FOR_A_CLAUSE and not (yours and right):
            if yours:
                times = f"in {yours} of {len(altered)} trials"
                return f"when `{name}` changes, your answer changes too ({times}); it should not"
            times = f"in {right} of {len(altered)} trials"
            return f"when `{name}` changes, your answer stays the same; it should change ({times})"
        if right >= MIN_CASES_FOR_A_CLAUSE:
            does_follow = all(_changes_as_right_value_does(old, new) for old, new in altered)
            (followed if does_follow else not_followed).append(f"`{name}`")
    if not (followed and not_followed):
        return ""
    return (
        f"when {' or '.join(followed)} changes, your answer changes as it should; "
        f"when {' or '.join(not_followed)} changes, it does not"
    )


def _judged_cases_with_argument_altered(
    case: JudgedCase, place: int, cases: Sequence[JudgedCase], judge_other: AnswerOnArgumentsJudge
) -> Iterator[JudgedCase]:
    """Judge a case again with other values of one argument, if these make a case."""
    for other in _argument_values_to_try(case.args[place], [each.args[place] for each in cases]):
        with contextlib.suppress(Exception):  # no case: there is no right value
            new = judge_other(*case.args[:place], other, *case.args[place + 1 :])
            if not new.outcome.stop_cause:
                yield new


def _argument_values_to_try(value: Any, values: Sequence[Any]) -> list[Any]:
    """Return values to try in place of one: two of other cases, and some near it."""
    if isinstance(value, bool):
        return [not value]
    shape = getattr(value, "shape", None)
    others = [
        other
        for other in values
        if type(other) is type(value)
        and getattr(other, "shape", None) == shape
        and not are_identical(other, value)
    ][:2]
    if isinstance(value, int | float) or (shape and value.is_floating_point()):
        others += [value + 1, 2 * value]
    elif isinstance(value, list):
        others += [value[::-1], value[:-1]]
    return others


def _values_differ(one: Any, other: Any) -> bool:
    return bool(describe_difference_safely(one, other))


def _changes_as_right_value_does(old: JudgedCase, new: JudgedCase) -> bool:
    """Return whether an answer's numbers change as the right ones do: as much, or in proportion."""
    values = (old.outcome.value, new.outcome.value, old.right, new.right)
    numbers = [row for value in values if (row := flatten_numbers(value)) is not None]
    if len(numbers) < len(values) or len({row.shape for row in numbers}) > 1:
        return False
    yours, new_yours, right, new_right = numbers
    subtract, multiply = partial(combine, operator.sub), partial(combine, operator.mul)
    return all_close(subtract(new_yours, yours), subtract(new_right, right)) or all_close(
        multiply(new_yours, right), multiply(new_right, yours)
    )


def _only_wrong_part_of_values(pairs: ReturnedAndRight) -> tuple[str, ReturnedAndRight]:
    """Return which part of the values is the only wrong one, and its pairs; else "" and all."""
    parts = [(_parts_by_name(yours), _parts_by_name(right)) for yours, right in pairs]
    names = list(parts[0][0]) if parts else []
    if len(names) < 2 or any(list(side) != names for pair in parts for side in pair):
        return "", pairs
    wrong = [
        name
        for name in names
        if any(_values_differ(yours[name], right[name]) for yours, right in parts)
    ]
    if len(wrong) != 1:
        return "", pairs
    (name,) = wrong
    clause = f"of the {len(names)} values that you return, only {name} is ever wrong"
    return clause, [(yours[name], right[name]) for yours, right in parts]


def _parts_by_name(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    items = value if isinstance(value, tuple | list) else ()
    return {f"number {place}": item for place, item in enumerate(items, start=1)}
