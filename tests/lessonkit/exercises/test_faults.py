"""Lesson 16: its ten tickets, and right answers that must pass."""

from typing import Any

import pytest
import torch

from lessonkit.exercises import faults as ex
from lessonkit.exercises.message import MAX_LINE_WIDTH
from lessonkit.exercises.tickets import (
    ANSWER_CELL,
    EXPERIMENTS,
    MAX_EXPERIMENTS_IN_ALL,
    NUMBER_WORDS,
    Ticket,
    Tickets,
)
from tests.helpers.exercise_walk import status
from transformer.support.errors import UserError

CAUSES = ex.tickets.causes
RIGHT = {number: each.cause for number, each in zip(NUMBER_WORDS, ex.tickets.tickets, strict=True)}
# Causes that no ticket has, each with a fault of the museum: the experiments must tell them too.
DECOYS = {"d": "padding_attended", "g": "positions_over_the_batch", "l": "cache_of_the_newest"}


def found(ticket: Ticket) -> tuple[str, ...]:
    """Return what each experiment finds."""
    lines = []
    for experiment in EXPERIMENTS.values():
        model = ticket.build_model()
        model.module.eval()
        lines.append(experiment(model))
    return tuple(lines)


@pytest.mark.slow
def test_the_experiments_tell_every_cause_from_every_other() -> None:
    others = [Ticket(fault, letter, "", "") for letter, fault in DECOYS.items()]
    every = {each.cause: found(each) for each in (*ex.tickets.tickets, *others)}
    assert "".join(sorted(every)) == "".join(CAUSES) == "abcdefghijklm"
    assert len(set(every.values())) == len(every)
    sound = dict(zip(EXPERIMENTS, every["a"], strict=True))
    # What a wrong answer is told: the experiment named there finds this, where it is the cause.
    for letter, name, shows in (
        *(("b", "future", "0.28 with the token at 6"), ("c", "future", "0.00 with the token at 6")),
        *(("d", "padding", "memory moves by 1.31"), ("e", "padding", "the memory moves by 0.00")),
        *(("f", "neighbour", "moves by 0.00"), ("g", "rows", "apart"), ("h", "step", "0 of 63")),
        *(("i", "step", "7.7, then 15.4"), ("j", "loss", "moves by 0.09")),
        *(("k", "cache", "0.00 apart, the second 0.00"), ("l", "cache", "first sentence is")),
        ("m", "cache", "first sentence is 0.00 apart"),
    ):
        line = dict(zip(EXPERIMENTS, every[letter], strict=True))[name]
        assert f"`{name}`" in CAUSES[letter][1]
        assert shows in line
        assert line != sound[name]


def said(text: Any) -> str:
    assert all(len(line) <= MAX_LINE_WIDTH for line in repr(text).splitlines())
    return " ".join(repr(text).split())


def test_a_blank_cell_lists_the_causes_and_nonsense_raises_nothing() -> None:
    blank = eval(ANSWER_CELL, {"tickets": ex.tickets})
    assert blank.status == "not attempted"
    assert all(f"{letter} {name}" in said(blank) for letter, (name, _) in CAUSES.items())
    assert said(blank).endswith("0 of 10 right, 10 not attempted. Put a letter in place of None.")
    for value in ("z", "ab", 3, [1], torch.zeros(2), object()):
        verdict = ex.tickets.answer(**dict.fromkeys(NUMBER_WORDS, value))
        assert verdict.status == "wrong"
        assert 'Answer with a letter, "a" to "m".' in said(verdict)
    for number in (0, 11, -1, "1", None, 1.5):
        with pytest.raises(UserError, match="they are 1 to 10"):
            ex.tickets.show_log(number)
    with pytest.raises(UserError, match="there is no experiment 'guess': choose future, padding"):
        ex.tickets.run_experiment(1, "guess")


def test_a_log_says_the_same_each_time_and_leaves_chance_alone() -> None:
    chance = torch.random.get_rng_state()
    log = said(ex.tickets.show_log(7))
    assert log.startswith(f"7. {ex.tickets.tickets[6].report} step 1: ")
    assert log == said(ex.tickets.show_log(7))
    assert log.count("step") == 4
    assert torch.equal(torch.random.get_rng_state(), chance)


def test_experiments_are_limited_and_the_same_one_counts_once() -> None:
    own = Tickets({"list": [vars(each) for each in ex.tickets.tickets], "causes": CAUSES})
    for _ in range(2):
        first = said(own.run_experiment(1, "rows"))
        assert first.endswith(
            f"{MAX_EXPERIMENTS_IN_ALL - 1} of {MAX_EXPERIMENTS_IN_ALL} experiments left."
        )
    for number in range(2, MAX_EXPERIMENTS_IN_ALL // 2 + 1):
        own.run_experiment(number, "rows")
        last = own.run_experiment(number, "loss")
    assert said(last).endswith(f"1 of {MAX_EXPERIMENTS_IN_ALL} experiments left.")
    own.run_experiment(1, "loss")
    assert "used up" in said(own.run_experiment(1, "future"))
    assert said(own.run_experiment(1, "rows")).endswith(
        f"0 of {MAX_EXPERIMENTS_IN_ALL} experiments left."
    )
    assert f"Experiments used: {MAX_EXPERIMENTS_IN_ALL} of {MAX_EXPERIMENTS_IN_ALL}." in said(
        own.answer(**RIGHT)
    )


def test_right_answers_pass_and_wrong_ones_name_an_experiment() -> None:
    verdict = ex.tickets.answer(**RIGHT)
    assert verdict.status == "passed"
    assert said(verdict).endswith("10 of 10 right.")
    assert ex.tickets.answer(one=f" {RIGHT['one'].upper()} ").status == "not attempted"
    for letter, (_, follows) in CAUSES.items():
        verdict = ex.tickets.answer(**dict.fromkeys(NUMBER_WORDS, letter))
        assert verdict.status == "wrong"
        for number, ticket in enumerate(ex.tickets.tickets, start=1):
            is_right = letter == ticket.cause
            experiment = CAUSES[ticket.cause][1].partition("`")[2].partition("`")[0]
            assert letter != "a" or is_right or experiment in EXPERIMENTS
            follows_here = follows.replace("{experiment}", experiment)
            says = f"right. {ticket.why}" if is_right else f"no. {follows_here}"
            assert f"{number}. {letter}: {' '.join(says.split())}" in said(verdict)
            assert (" ".join(ticket.why.split()) in said(verdict)) == is_right


def ahead_by_cutting(decode, tgt_in):
    """A position that sees ahead has other logits where what it sees is cut off."""
    farthest = 0
    for end in range(1, len(tgt_in)):
        part, longer = decode(tgt_in[:end]), decode(tgt_in[: end + 1])
        moved = [at for at in range(end) if not torch.allclose(longer[at], part[at])]
        farthest = max([farthest, *(end - at for at in moved)])
    return farthest


def test_other_ways_pass() -> None:
    assert status("tokens_seen_ahead", ahead_by_cutting) == "passed"
