"""What an exercise says is seen once, wherever the call stands in a cell."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from lessonkit.exercises import start, training
from lessonkit.exercises.prediction import Prediction

SAID_BY_CALL = {
    "share.predict(50)": "share: you expect",
    "share.compare(45)": "share: there is no guess",
    "perplexity.check(None)": "perplexity: not attempted",
    "perplexity.hint()": "Hint ",
    "perplexity.solution()": "def my_perplexity(",
    "quiz.answer()": "right, 3 not attempted",
    "show_progress()": "exercises right",
}


@pytest.mark.parametrize("call", SAID_BY_CALL)
def test_what_is_said_is_seen_once_as_the_last_statement_and_before_another(
    call: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {
        "share": Prediction("share", "?", low=0, high=100, unit="%"),
        "perplexity": start.perplexity,
        "quiz": training.earlier_lessons_quiz,
        "show_progress": start.show_progress,
    }
    shell = InteractiveShell(user_ns=names)
    for cell in (call, f"{call}\nother = 1"):
        shell.run_cell(cell).raise_error()
        assert capsys.readouterr().out.count(SAID_BY_CALL[call]) == 1, cell
