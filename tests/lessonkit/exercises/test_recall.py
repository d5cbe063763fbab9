"""Three questions open a lesson: one right answer each, a line for every other, a place to read."""

import itertools
import re
from collections import Counter
from typing import Any

import pytest

from lessonkit.exercises.check import MAX_COLUMNS
from lessonkit.exercises.recall import (
    CELL,
    LETTERS,
    Choose,
    Option,
    Place,
    Question,
    Recall,
    Say,
)
from tests.helpers.ask_first_walk import QUESTIONS, RECALLS, headings, numbers
from tests.lessonkit.exercises.test_predict import BLANK, NONSENSE

HERE = Place("02", "Several heads")
CHOOSE = Choose("Which?", HERE, (Option("This.", "Not this."), Option("That.", "Yes.", True)))
NUMBER = Say("How many?", HERE, answer=8, says="Eight.", otherwise="Count.", wrong={64: "Width."})
WORD = Say("Which word?", HERE, answer="dort", says="Next.", otherwise="No.", wrong={"la": "Past."})


@pytest.fixture(params=QUESTIONS)
def question(request: pytest.FixtureRequest) -> Question:
    return QUESTIONS[request.param]


@pytest.fixture(params=RECALLS)
def recall(request: pytest.FixtureRequest) -> Recall:
    return RECALLS[request.param]


def wrong_answers(question: Question) -> list[Any]:
    if isinstance(question, Choose):
        pairs = zip(LETTERS, question.options, strict=False)
        return [letter for letter, option in pairs if not option.is_right]
    assert isinstance(question, Say)
    return list(question.wrong)


def right_answer(question: Question) -> Any:
    if isinstance(question, Choose):
        (place,) = [i for i, option in enumerate(question.options) if option.is_right]
        return LETTERS[place]
    assert isinstance(question, Say)
    return question.answer


def test_an_answer_is_judged_under_its_question() -> None:
    text = repr(Recall("03", CHOOSE, NUMBER, WORD).answer("a", 8.0, "La"))
    again = 'Read again: lesson 02, "Several heads".'
    assert text == (
        "1. Which?\n   a  This.\n   b  That.\n"
        f"   -> a: no. Not this. {again}\n\n"
        "2. How many?\n   -> 8: right. Eight.\n\n"
        f"3. Which word?\n   -> la: no. Past. {again}\n\n"
        "1 of 3 right."
    )


@pytest.mark.parametrize(
    ("question", "given", "status"),
    [
        (CHOOSE, "b", "passed"),
        (CHOOSE, " B ", "passed"),
        (CHOOSE, "a", "wrong"),
        (CHOOSE, "c", "wrong"),
        (CHOOSE, "ab", "wrong"),
        (CHOOSE, 2, "wrong"),
        (NUMBER, "8", "passed"),
        (NUMBER, 9, "wrong"),
        (NUMBER, "eight", "wrong"),
        (WORD, "DORT", "passed"),
        (WORD, "dor", "wrong"),
        (WORD, 7, "wrong"),
    ],
)
def test_answers_by_hand(question: Question, given: Any, status: str) -> None:
    assert question.judge(given).status == status


def test_one_wrong_answer_makes_the_whole_wrong_and_one_blank_leaves_it_open() -> None:
    each = Recall("03", CHOOSE, NUMBER, WORD)
    assert each.answer("b", 8, "dort").status == "passed"
    assert each.answer("b", 8).status == "not attempted"
    assert each.answer("b", 9).status == "wrong"
    assert repr(each.answer("b", 8)).endswith(
        "2 of 3 right, 1 not attempted. Put an answer in place of None."
    )


def test_a_blank_cell_shows_the_questions_and_no_verdict(recall: Recall) -> None:
    blank = eval(CELL, {"ex": type("ex", (), {"recall": recall})})
    assert blank.status == "not attempted"
    assert "->" not in repr(blank)
    for number, question in enumerate(recall.questions, start=1):
        assert f"{number}. {question.asks}" in " ".join(repr(blank).split())
    for given in itertools.product(BLANK, repeat=3):
        assert repr(recall.answer(*given)) == repr(blank)


def test_nonsense_raises_nothing(recall: Recall) -> None:
    for value in NONSENSE:
        verdict = recall.answer(value, value, value)
        assert verdict.status == "wrong"
        assert repr(verdict).endswith("0 of 3 right.")


def test_texts_fit_a_small_screen(recall: Recall) -> None:
    for answer in (right_answer, lambda question: wrong_answers(question)[0]):
        text = repr(recall.answer(*map(answer, recall.questions)))
        assert all(len(line) <= MAX_COLUMNS for line in text.splitlines())


def test_exactly_one_answer_is_right(question: Question) -> None:
    assert question.judge(right_answer(question)).status == "passed"
    if isinstance(question, Choose):
        assert 3 <= len(question.options) <= len(LETTERS)
        letters = LETTERS[: len(question.options)]
        passed = [letter for letter in letters if question.judge(letter).status == "passed"]
        assert passed == [right_answer(question)]


def test_every_wrong_answer_has_its_own_explanation_and_the_place(question: Question) -> None:
    assert len(wrong_answers(question)) >= 2
    said = [question.judge(answer).says for answer in wrong_answers(question)]
    lines = [re.sub(r"^.*?: no\. ", "", line).removesuffix(f"{question.again}.") for line in said]
    assert len(set(lines)) == len(lines)
    for line, answer in zip(said, wrong_answers(question), strict=True):
        assert question.judge(answer).status == "wrong"
        assert f'Read again: lesson {question.again.lesson}, "{question.again.heading}".' in line
    if isinstance(question, Say):
        assert question.otherwise not in question.wrong.values()
    else:
        assert isinstance(question, Choose)
        assert all(len(option.says) > 15 for option in question.options)
        assert len({option.text for option in question.options}) == len(question.options)


def test_the_heading_to_read_again_is_in_the_lesson(question: Question) -> None:
    assert question.again.heading in headings(question.again.lesson)


def test_a_heading_that_was_renamed_is_found() -> None:
    assert "Several heads" in headings("02")
    assert "Several headings" not in headings("02")


def test_every_lesson_but_the_first_asks_of_the_last_and_the_one_before(recall: Recall) -> None:
    asked = Counter(int(question.again.lesson) for question in recall.questions)
    number = int(recall.lesson)
    assert set(asked) == ({number - 1, number - 2} if number > 1 else {0})
    assert asked[number - 1] >= 2


def test_recall_belongs_to_its_lesson() -> None:
    lessons = numbers()
    assert {module: recall.lesson for module, recall in RECALLS.items()} == {
        module: lesson for module, lesson in lessons.items() if lesson != "00"
    }


def test_the_right_letter_is_not_always_the_same() -> None:
    letters = Counter(right_answer(q) for q in QUESTIONS.values() if isinstance(q, Choose))
    assert set(letters) == {"a", "b", "c"}
    assert max(letters.values()) <= 0.45 * letters.total()


def test_the_right_option_is_not_told_by_its_length() -> None:
    longest = Counter(
        max(question.options, key=lambda option: len(option.text)).is_right
        for question in QUESTIONS.values()
        if isinstance(question, Choose)
    )
    assert longest[True] <= 0.6 * longest.total()
