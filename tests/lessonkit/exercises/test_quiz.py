"""Three questions open a lesson: each has one right answer, and a line for every other."""

import itertools
import re
from collections import Counter
from typing import Any

import pytest

from lessonkit.exercises.message import MAX_LINE_WIDTH
from lessonkit.exercises.quiz import ANSWER_CELL, OPTION_LETTERS, Question, Quiz
from tests.helpers import exercise_walk as walk

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
    text = repr(Quiz("03", (CHOOSE, NUMBER, WORD)).answer("a", 8.0, "La"))
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
    blank = Quiz("03", (CHOOSE, NUMBER, WORD)).answer("b", 8)
    assert blank.status == "not attempted"
    end = "2 of 3 right, 1 not attempted. Put an answer in place of None."
    assert repr(blank).endswith(end)


def right_answer(question: Any) -> Any:
    return question.right or question.answer


def wrong_answers(question: Any) -> list[Any]:
    if question.wrong_answers:
        return list(question.wrong_answers)
    return [
        letter for letter in OPTION_LETTERS[: len(question.options)] if letter != question.right
    ]


@pytest.mark.parametrize("lesson", walk.QUIZZES)
def test_a_lessons_questions_are_shown_and_judged(lesson: str) -> None:
    quiz = walk.QUIZZES[lesson]
    blank = eval(ANSWER_CELL, {"ex": type("ex", (), {"earlier_lessons_quiz": quiz})})
    assert blank.status == "not attempted"
    assert "->" not in repr(blank)
    for number, question in enumerate(quiz.questions, start=1):
        assert f"{number}. {question.question}" in " ".join(repr(blank).split())
    for given in itertools.product(walk.BLANK, repeat=3):
        assert repr(quiz.answer(*given)) == repr(blank)
    for value in walk.NONSENSE:
        verdict = quiz.answer(value, value, value)
        assert verdict.status == "wrong"
        assert repr(verdict).endswith("0 of 3 right.")
    for answer in (right_answer, lambda question: wrong_answers(question)[0]):
        text = repr(quiz.answer(*map(answer, quiz.questions)))
        assert all(len(line) <= MAX_LINE_WIDTH for line in text.splitlines())


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


def test_every_lesson_but_the_first_asks_of_lessons_before_it() -> None:
    assert set(walk.QUIZZES) == set(walk.LESSONS) - {"00"}
    for lesson, quiz in walk.QUIZZES.items():
        asked = Counter(int(question.lesson) for question in quiz.questions)
        assert quiz.lesson == lesson
        assert asked.total() == 3
        assert max(asked) < int(lesson)


def test_the_right_option_is_not_told_by_its_letter_or_its_length() -> None:
    chosen = [question for question in walk.QUESTIONS.values() if question.options]
    letters = Counter(question.right for question in chosen)
    assert set(letters) == {"a", "b", "c"}
    assert max(letters.values()) <= 0.45 * letters.total()
    lengths = [[len(text) for text, _ in question.options] for question in chosen]
    longest = [OPTION_LETTERS[each.index(max(each))] for each in lengths]
    told = sum(letter == each.right for letter, each in zip(longest, chosen, strict=True))
    assert told <= 0.6 * len(chosen)
