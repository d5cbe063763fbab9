"""The command `diagnose`: what it finds, what it prints, and its exit status."""

import json
import sys
from pathlib import Path

import pytest

from attention_course.command_line import main

CODE = """
from attention_laws import Pipeline
from lessonkit.adapters import corpus_bleu
from lessonkit.museum.sound import sound_model
from torch import nn
print("imported")

class LengthFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = sound_model()
    def forward(self, src, tgt_in):
        return self.model(src.T, tgt_in.T).transpose(0, 1)

class Ahead(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = sound_model()
    def forward(self, src, tgt_in):
        return self.model(src, tgt_in.flip(1)).flip(1)

pipeline = Pipeline(score=lambda said, wanted: corpus_bleu(wanted, said), test=tuple(
    (str(i), f"sentence number {i} of a set of {i + 9} in all") for i in range(9)))
"""


@pytest.fixture(autouse=True)
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the current folder, of a name that no other test has imported."""
    name = f"theirs_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(CODE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return name


@pytest.mark.slow
def test_a_broken_law_is_told_with_what_shows_it(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", f"{code}.py:Ahead", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (line,) = (line for line in report["lines"] if line["law"] == "decoder_is_causal")
    assert line["verdict"] == "broken"
    assert "tgt_in [2, " in line["seen"]
    assert report["exit_status"] == 1
    assert any("--length-first" in each for each in report["assumptions"])


@pytest.mark.slow
def test_ids_may_be_length_first_and_special_ids_others(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["diagnose", f"{code}:LengthFirst", "--length-first", "--bos", "1", "--eos", "2"]
    assert main(typed) == 0
    out, err = capsys.readouterr()
    assert "imported" not in out  # what their code prints is no report
    assert "imported" in err
    assert "ids are length first (given" in out
    assert "bos 1" in out
    assert main(["diagnose", f"{code}:pipeline"]) == 1  # on the laws of scores
    out = capsys.readouterr().out
    assert "hypotheses_and_references_are_not_swapped" in out
    assert "decoder_is_causal" not in out


@pytest.mark.slow
def test_a_model_folder_is_tried_with_its_text_and_its_score(
    tiny_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(tiny_folder)]) == 0
    out = capsys.readouterr().out
    assert "cache_reorders_with_beams: rows exchanged" in out
    assert "references_score_100: 40 references" in out
