"""A prediction gives nothing away; three questions have one right answer and a line for others."""

import itertools
import re
from collections import Counter
from typing import Any

import pytest
import torch

from lessonkit.exercises.message import MAX_COLUMNS
from lessonkit.exercises.prediction import Prediction
from lessonkit.exercises.recall import CELL, LETTERS, Question, Recall
from tests.helpers import exercise_walk as walk

BLANK = (None, ..., "", "  ")
NONSENSE = (
    *(walk.Odd(), object(), [], [1, 2], {}, b"no", 1j, "nothing like it", "0,7", True, lambda: 3),
    *(float("nan"), float("inf"), 10**400, torch.zeros(2, 3), torch.empty(0)),
)
MOVED = Prediction("moved", "Where?", options=("encoder", "the decoder", "neither"))
SHARE = Prediction("share", "How much?", low=0, high=100, tolerance=5, unit="%", digits=1)


def test_guesses_are_compared_with_what_was_measured() -> None:
    line = 'guess = None  # "encoder", "the decoder" or "neither"\nex.moved.predict(guess)'
    assert MOVED.blank == line
    assert SHARE.blank == "guess = None  # a number from 0 to 100 (%)\nex.share.predict(guess)"
    assert repr(MOVED.predict(" The  Decoder ")) == 'moved: you expect "the decoder". Now see.'
    shut = Prediction("shut", "?", options=("0", "3", "nan"))
    for each, guess, measured, says in (
        (MOVED, "the decoder", "encoder", 'you expected "the decoder"; it is "encoder".'),
        (MOVED, "the decoder", "the decoder", 'it is "the decoder", as you expected.'),
        (shut, 3, f"{3.0:.0f}", 'it is "3", as you expected.'),
        (shut, "NaN", "nan", 'it is "nan", as you expected.'),
        (SHARE, 50, 45.5, "you expected 50.0%, measured 45.5%: near."),
        (SHARE, "40%", 45, "you expected 40.0%, measured 45.0%: near."),
        (SHARE, torch.tensor(50.0), 44.0, "you expected 50.0%, measured 44.0%: too high by 6.0."),
        (SHARE, 2, torch.tensor([45.5]), "you expected 2.0%, measured 45.5%: too low by 43.5."),
    ):
        assert each.predict(guess).status == ""
        assert repr(each.compare(measured)) == f"{each.name}: {says}"


def test_a_new_guess_replaces_the_one_before_and_one_out_of_range_is_not_taken_down() -> None:
    for guess in (-0.1, 100.1, "200%"):
        SHARE.predict(50)
        verdict = SHARE.predict(guess)
        assert verdict.status == "wrong"
        assert "is not a number from 0 to 100 (%). Nothing was taken down." in repr(verdict)
        assert "no guess" in repr(SHARE.compare(45))


@pytest.mark.parametrize("name", walk.PREDICTIONS)
def test_a_prediction_gives_nothing_away_takes_every_guess_down_and_can_fail(name: str) -> None:
    each = walk.PREDICTIONS[name]
    values = tuple(each.options) or (each.low, each.high)
    for blank in BLANK:
        verdict = each.predict(blank)
        assert verdict.status == "not attempted"
        assert each.guess_format in " ".join(repr(verdict).split())
        said = {repr(each.compare(value)) for value in (0.31, 77, *values)}
        assert said == {f"{name}: there is no guess to compare."}
    for value in NONSENSE:
        assert each.predict(value).status == "wrong"
    for value in values:
        assert each.predict(value).status == ""
        compared = repr(each.compare(value))
        assert "as you expected" in compared or compared.endswith(": near.")
        assert all(len(line) <= MAX_COLUMNS for line in compared.splitlines())
        assert all(repr(each.compare(odd)).startswith(f"{name}: ") for odd in NONSENSE)
    compared = repr(each.compare(values[0]))  # after a guess of the last
    assert "as you expected" not in compared
    assert not compared.endswith(": near.")
    each.predict(None)
    assert max(map(len, each.blank.splitlines())) <= 80
    assert "?" in each.question
    if each.options:
        assert len({option.casefold() for option in each.options}) == len(each.options) >= 2
    else:  # a guess at random is seldom near
        assert 2 * each.tolerance <= 0.25 * (each.high - each.low)


def test_every_prediction_has_its_own_name_and_is_reached_under_it() -> None:
    for module in walk.MODULES:
        for name, each in walk.predictions(module).items():
            assert walk.PREDICTIONS[name] is each
            assert name == each.name
            assert name not in walk.exercises(module)


HERE = {"lesson": "02", "heading": "Several heads"}
CHOOSE = Question("Which?", **HERE, right="b", options=(("This.", "Not this."), ("That.", "Yes.")))
NUMBER = Question(
    "How many?",
    **HERE,
    answer=8,
    why="Eight.",
    other_answers="Count.",
    wrong_answers={"64": "Width."},
)
WORD = Question(
    "Which word?",
    **HERE,
    answer="dort",
    why="Next.",
    other_answers="No.",
    wrong_answers={"la": "Past."},
)


def test_an_answer_is_judged_under_its_question() -> None:
    text = repr(Recall("03", (CHOOSE, NUMBER, WORD)).answer("a", 8.0, "La"))
    again = 'Read again: lesson 02, "Several heads".'
    assert text == (
        "1. Which?\n   a  This.\n   b  That.\n"
        f"   -> a: no. Not this. {again}\n\n"
        "2. How many?\n   -> 8: right. Eight.\n\n"
        f"3. Which word?\n   -> la: no. Past. {again}\n\n"
        "1 of 3 right."
    )


def test_answers_by_hand() -> None:
    for question, right, wrong in (
        (CHOOSE, [" B ", "b)", "(b)", "b."], ["a", "c", "ab", 2]),
        (NUMBER, ["8"], [64, "eight"]),
        (WORD, ["DORT"], ["dor", 7]),
    ):
        assert {question.judge(given)[0] for given in right} == {"passed"}
        assert {question.judge(given)[0] for given in wrong} == {"wrong"}
    blank = Recall("03", (CHOOSE, NUMBER, WORD)).answer("b", 8)
    assert blank.status == "not attempted"
    end = "2 of 3 right, 1 not attempted. Put an answer in place of None."
    assert repr(blank).endswith(end)


def right_answer(question: Any) -> Any:
    return question.right or question.answer


def wrong_answers(question: Any) -> list[Any]:
    if question.wrong_answers:
        return list(question.wrong_answers)
    return [letter for letter in LETTERS[: len(question.options)] if letter != question.right]


@pytest.mark.parametrize("lesson", walk.RECALLS)
def test_a_lessons_questions_are_shown_and_judged(lesson: str) -> None:
    recall = walk.RECALLS[lesson]
    blank = eval(CELL, {"ex": type("ex", (), {"recall": recall})})
    assert blank.status == "not attempted"
    assert "->" not in repr(blank)
    for number, question in enumerate(recall.questions, start=1):
        assert f"{number}. {question.question}" in " ".join(repr(blank).split())
    for given in itertools.product(BLANK, repeat=3):
        assert repr(recall.answer(*given)) == repr(blank)
    for value in NONSENSE:
        verdict = recall.answer(value, value, value)
        assert verdict.status == "wrong"
        assert repr(verdict).endswith("0 of 3 right.")
    for answer in (right_answer, lambda question: wrong_answers(question)[0]):
        text = repr(recall.answer(*map(answer, recall.questions)))
        assert all(len(line) <= MAX_COLUMNS for line in text.splitlines())


@pytest.mark.parametrize("name", walk.QUESTIONS)
def test_one_answer_is_right_and_every_other_has_its_line_and_the_place(name: str) -> None:
    question = walk.QUESTIONS[name]
    assert question.judge(right_answer(question))[0] == "passed"
    assert len(wrong_answers(question)) >= 2
    said = []
    for answer in wrong_answers(question):
        status, line = question.judge(answer)
        assert status == "wrong"
        again = f' Read again: lesson {question.lesson}, "{question.heading}".'
        assert line.endswith(again)
        said.append(re.sub(r"^.*?: no\. ", "", line.removesuffix(again)))
    if question.wrong_answers:
        said.append(question.other_answers)
    else:
        assert len({text for text, _ in question.options}) == len(question.options)
        assert all(len(says) > 15 for _, says in question.options)
    assert len(set(said)) == len(said)
    text = "\n".join(
        cell.source for cell in walk.cells(question.lesson) if cell.cell_type == "markdown"
    )
    assert question.heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)


def test_every_lesson_but_the_first_asks_of_the_last_and_the_one_before() -> None:
    assert set(walk.RECALLS) == set(walk.LESSONS) - {"00"}
    for lesson, recall in walk.RECALLS.items():
        asked = Counter(int(question.lesson) for question in recall.questions)
        number = int(lesson)
        assert recall.lesson == lesson
        assert set(asked) == ({number - 1, number - 2} if number > 1 else {0})
        assert asked[number - 1] >= 2


def test_the_right_option_is_not_told_by_its_letter_or_its_length() -> None:
    chosen = [question for question in walk.QUESTIONS.values() if question.options]
    letters = Counter(question.right for question in chosen)
    assert set(letters) == {"a", "b", "c"}
    assert max(letters.values()) <= 0.45 * letters.total()
    lengths = [[len(text) for text, _ in question.options] for question in chosen]
    longest = [LETTERS[each.index(max(each))] for each in lengths]
    told = sum(letter == each.right for letter, each in zip(longest, chosen, strict=True))
    assert told <= 0.6 * len(chosen)
