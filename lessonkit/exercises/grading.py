"""Grading: each answer of a learner in a process of its own, on cases of another seed.

Not in the paper. Of a notebook only imports, functions, classes and plain assignments are run, and
no stored output is read. What an answer returns is judged outside its process, so that nothing it
does there makes it right.
"""

import ast
import contextlib
import io
import itertools
import multiprocessing
import pkgutil
import re
import socket
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lessonkit.exercises
from lessonkit.exercises import own
from lessonkit.exercises.exercise import ANSWER_PREFIX, NUM_REPEATED_CASES, Exercise
from lessonkit.exercises.outcome import Outcome, fixed_torch_state_context
from lessonkit.exercises.submission import (
    DEFINITION_NODES,
    Statements,
    forbidden_names,
    is_harmless,
    parse_statements_if_python,
    read_code_texts,
)
from lessonkit.exercises.wording import LessonWording
from transformer.support.errors import UserError
from transformer.support.signals import ignore_interrupts

RIGHT, WRONG, OPEN, LATE = "right", "wrong", "not attempted", "no answer in time"
LESSON_IMPORT_PATTERN = re.compile(r"from lessonkit\.exercises import (\w+) as ex")
PROCESS_START_METHOD = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"


def grade_submission(path: Path, seconds: float) -> dict[str, str]:
    """Judge a notebook, a Python file or a folder of them.

    Args:
        path: What a learner hands in.
        seconds: After which an answer is stopped.

    Returns:
        The verdict of each answer, by its name, or why it was not judged.

    Raises:
        UserError: there is no answer to judge.
    """
    files = [path] if path.is_file() else sorted([*path.glob("*.ipynb"), *path.glob("*.py")])
    texts = [text for file in files for text in read_code_texts(file)]
    lessons = {name for text in texts for name in LESSON_IMPORT_PATTERN.findall(text)}
    statements = [statement for text in texts for statement in parse_statements_if_python(text)]
    defined = {
        statement.name for statement in statements if isinstance(statement, DEFINITION_NODES)
    }
    wanted = {
        name: exercise
        for lesson, exercises in exercises_by_lesson_module().items()
        for name, exercise in exercises.items()
        if lesson in lessons or name in defined
    }
    if not wanted:
        raise UserError(f"{path}: no exercise in it; give a notebook of the course, or a folder")
    return {
        name: _grade_answer(name, exercise, statements, seconds)
        for name, exercise in wanted.items()
    }


@cache
def exercises_by_lesson_module() -> dict[str, dict[str, Exercise]]:
    """Return every exercise, by its lesson's module and by the name that an answer has."""
    by_module = {}
    for info in pkgutil.iter_modules(lessonkit.exercises.__path__):
        names = vars(import_module(f"{lessonkit.exercises.__name__}.{info.name}"))
        lesson_wording = names.get("lesson_wording")
        if not isinstance(lesson_wording, LessonWording):
            continue
        exercises = {
            f"{ANSWER_PREFIX}{exercise.name}": exercise
            for exercise in names.values()
            if isinstance(exercise, Exercise)
        }
        for name, exercise in own.CLASS_EXERCISES_BY_NAME.items():
            if exercise.lesson == lesson_wording.lesson:
                exercises[name] = exercise
        by_module[info.name] = exercises
    return by_module


def _grade_answer(name: str, exercise: Exercise, statements: Statements, seconds: float) -> str:
    """Have an answer run in another process, and judge what comes back."""
    definitions = [
        statement
        for statement in statements
        if isinstance(statement, DEFINITION_NODES) and statement.name == name
    ]
    if not definitions:
        return OPEN
    if forbidden := forbidden_names(definitions[-1]):
        return f"uses {forbidden[0]}"
    source = "\n".join(ast.unparse(statement) for statement in statements if is_harmless(statement))
    context: Any = multiprocessing.get_context(PROCESS_START_METHOD)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(
        target=_run_answer_and_send_outcomes, args=(name, source, sender), daemon=True
    )
    try:
        process.start()
        sender.close()
        return _receive_and_judge_outcomes(receiver, exercise, seconds)
    finally:
        if process.pid is not None:
            process.kill()
            process.join()


def _receive_and_judge_outcomes(receiver: Any, exercise: Exercise, seconds: float) -> str:
    """Return the verdict on what an answer's process sends."""
    try:
        if not receiver.poll(seconds):
            return LATE
        received = torch.load(io.BytesIO(receiver.recv_bytes()), weights_only=True)
        if received == OPEN:
            return OPEN
        outcomes = [Outcome(*fields) for fields in received]
        number = len(exercise.cases_with_right_values)
        judged = [
            *exercise.judge_outcomes(outcomes[:number]),
            *exercise.judge_outcomes(outcomes[number:]),
        ]
        is_right = len(judged) > number and not any(case.complaint for case in judged)
        return RIGHT if is_right else WRONG
    except Exception:  # whatever was sent is the learner's, and may be nothing
        return WRONG


def _run_answer_and_send_outcomes(name: str, source: str, sender: Any) -> None:
    """Run an answer on all cases, and on the first ones again; send what it did."""
    ignore_interrupts()  # Ctrl-C reaches the process that judges, too, which ends this one
    exercises = {
        key: value
        for group in exercises_by_lesson_module().values()
        for key, value in group.items()
    }
    exercise = exercises[name]
    socket.socket = None  # type: ignore[assignment,misc]  # nothing is fetched
    printed, message = io.StringIO(), io.BytesIO()
    sent: Any = OPEN
    with (
        contextlib.suppress(BaseException),  # a SystemExit, too
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        fixed_torch_state_context(),
    ):
        answer = _run_statements_for_answer(name, source, exercises)
        if not exercise.is_blank(answer):
            again = itertools.islice(exercise.run_cases(answer), NUM_REPEATED_CASES)
            sent = [
                _outcome_fields_to_send(outcome)
                for outcome in (*exercise.run_cases(answer), *again)
            ]
        torch.save(sent, message)
        sender.send_bytes(message.getvalue())


def _run_statements_for_answer(name: str, source: str, exercises: dict[str, Exercise]) -> Any:
    """Run a learner's statements, and return the answer of this name.

    The course's answers take the place of the learner's others that do not pass, as in a lesson.
    """
    names = {key: exercise.fallback for key, exercise in exercises.items() if key != name}
    body = ast.parse(source).body
    definitions = [statement for statement in body if getattr(statement, "name", "") == name]
    used = {getattr(node, "id", "") for part in definitions for node in ast.walk(part)}
    for statement in body:
        defined = getattr(statement, "name", name)
        other = exercises.get(defined) if defined != name else None
        if other and defined not in used:
            continue  # the course's takes its place: the learner's may never end
        with contextlib.suppress(Exception):  # it may need what is not there
            exec(ast.unparse(statement), names)
        if other and not other.passes(names[defined]):
            names[defined] = other.fallback
    return names[name]


def _outcome_fields_to_send(outcome: Outcome) -> Sequence[Any]:
    """Return an outcome's fields as they can be sent, without what was printed."""
    value = _numpy_scalars_to_python(outcome.value)
    return value, outcome.error, outcome.line, outcome.broken_rule, "", outcome.changed


def _numpy_scalars_to_python(value: Any) -> Any:
    """Return a value as it can be sent: NumPy's scalars as Python's."""
    if isinstance(value, tuple):
        return tuple(map(_numpy_scalars_to_python, value))
    if isinstance(value, list):
        return list(map(_numpy_scalars_to_python, value))
    if isinstance(value, dict):
        return {
            _numpy_scalars_to_python(key): _numpy_scalars_to_python(item)
            for key, item in value.items()
        }
    return value.item() if isinstance(value, np.generic) else value
