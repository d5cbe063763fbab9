"""What lesson 19 keeps of a learner's model of today."""

import linecache
from pathlib import Path
from typing import Any

import pytest
import torch

from lessonkit.exercises import since_2017 as ex
from lessonkit.exercises.learner_file import load_definition

CELL = """
from torch import nn

class MyNorm(nn.Module):
    def forward(self, hidden, weight):
        return rms_norm(hidden, weight)
"""


def test_classes_are_kept_beside_what_has_passed_and_run_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cell: dict[str, Any] = {"__name__": "__main__", "rms_norm": ex.rms_norm.fallback}
    linecache.cache["<cell>"] = (len(CELL), None, CELL.splitlines(keepends=True), "<cell>")
    exec(compile(CELL, "<cell>", "exec"), cell)
    file = Path("my_transformer.py")
    ex.keep_in_learner_file(cell["MyNorm"])
    assert not file.exists(), "nothing is the learner's"
    assert "there is no my_transformer.py" in capsys.readouterr().out
    file.write_text("def my_swiglu(x):\n    return x\n")
    ex.keep_in_learner_file(cell["MyNorm"])
    assert capsys.readouterr().out == "MyNorm is kept in my_transformer.py.\n"
    hidden, weight = torch.tensor([3.0, 4.0, 0.0, 0.0]), torch.ones(4)
    kept = load_definition("MyNorm")()(hidden, weight)
    torch.testing.assert_close(kept, ex.rms_norm.reference(hidden, weight))
    assert load_definition("my_swiglu")(3) == 3
