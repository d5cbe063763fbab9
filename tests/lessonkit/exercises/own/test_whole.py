"""The learner's pieces in one file: whose each is, and that the file trains and translates."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

from lessonkit.exercises import own
from lessonkit.exercises.own import reference, whole
from transformer.support.errors import UserError

# Until lessons 05 and 06 have the last of these exercises.
pytestmark = pytest.mark.skipif(
    not all(
        hasattr(import_module(f"lessonkit.exercises.{module}"), name)
        for name, (module, _) in whole.FUNCTIONS.items()
    ),
    reason="a function of lesson 05 or 06 is not there yet",
)
CLASSES = [each for name, each in vars(reference).items() if name.startswith("My")]


def solutions() -> list[str]:
    """The course's answers, as a learner would have kept them."""
    found = [whole.IMPORTS, *map(inspect.getsource, CLASSES)]
    for short, (module, _) in whole.FUNCTIONS.items():
        found.append(str(vars(import_module(f"lessonkit.exercises.{module}"))[short].solution()))
    return found


@pytest.mark.slow
def test_all_pieces_of_ones_own_run_to_a_translation_and_a_bleu(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "my_transformer.py"
    mine.write_text("\n\n\n".join(solutions()))
    own.run(3, mine, tmp_path / "run.py")
    lines = capfd.readouterr().out.splitlines()
    said = [line for line in lines if line.startswith(("My", "my_"))]
    assert len(said) == len(own.PARTS) + len(whole.FUNCTIONS) == 12
    assert all(line.endswith(" YOURS") for line in said)
    assert [line.split()[1] for line in lines if line.startswith("step")] == ["1", "2", "3"]
    assert "The black cat is sleeping. -> " in "\n".join(lines)
    assert lines[-1].startswith("BLEU of 50 validation sentences: ")
    with pytest.raises(UserError, match=r"run\.py stopped with an error"):
        own.run("three", mine, tmp_path / "run.py")  # type: ignore[arg-type]
    assert "ValueError: invalid literal" in capfd.readouterr().out


@pytest.mark.slow
def test_what_is_missing_or_does_not_pass_is_the_courses_and_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, out = tmp_path / "my_transformer.py", tmp_path / "run.py"
    broken = inspect.getsource(reference.MyEmbedding).replace("* self.scale", "/ self.scale")
    attention = inspect.getsource(reference.MyAttention)
    mine.write_text("\n\n\n".join([whole.IMPORTS, attention, broken]))
    whole.write(mine, out)
    said = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert said.pop("MyAttention") == "YOURS"
    assert said.pop("MyEmbedding") == "THE COURSE'S, for yours does not pass (lesson 03)"
    assert all("for yours is not kept" in each for each in said.values())
    found = [getattr(node, "name", "") for node in ast.parse(out.read_text()).body]
    assert [found.count(name) for name in ("MyAttention", "MyEmbedding", "MyFeedForward")] == [
        *(1, 2, 1)
    ]
    names: dict[str, object] = {"__name__": "whole"}
    exec(compile(out.read_text(), "run.py", "exec"), names)
    for part in own.PARTS.values():
        assert part.check(names[part.name]).status == "passed"
