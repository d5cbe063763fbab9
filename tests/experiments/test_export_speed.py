"""The speed of an exported model is a ratio within a round."""

import time
from pathlib import Path

import pytest
import torch

from experiments import export_speed
from tests.helpers import ROOT
from transformer.support.files import read_json, results_folder


def slow(seconds: float, wrong: str = "") -> export_speed.Translate:
    """Upper-case sentences, each in some seconds of a clock that nothing else moves."""

    def translate(sentences: list[str]) -> list[str]:
        CLOCK[0] += seconds * len(sentences)
        return ["?" if sentence == wrong else sentence.upper() for sentence in sentences]

    return translate


CLOCK = [0.0]


def test_speeds_and_equals_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "process_time", lambda: CLOCK[0])
    monkeypatch.setattr(export_speed, "ALONE", 2)
    engines = {"twice": slow(0.25), "half": slow(1.0, wrong="b")}
    figures = export_speed.compare(slow(0.5), engines, ["a", "b", "c"])
    assert figures["twice"]["equal"] == figures["twice"]["sentences"] == 3
    assert figures["half"]["equal"] == 2
    assert figures["twice"]["together"] == {
        "times_our_speed": 2.0,
        "lowest_and_highest": [2.0, 2.0],
        "seconds": [0.75] * 5,
        "our_seconds": [1.5] * 5,
    }
    assert figures["half"]["one_by_one"]["times_our_speed"] == 0.5
    assert figures["half"]["one_by_one"]["our_seconds"] == [1.0] * 5


@pytest.mark.slow
def test_a_model_is_measured_in_every_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("ctranslate2", "onnx", "onnxruntime"):
        pytest.importorskip(package, reason="needs the extra [export]")
    monkeypatch.setattr(export_speed, "ROUNDS", 1)
    monkeypatch.setattr(export_speed, "TOGETHER", 7)
    threads = torch.get_num_threads()
    export_speed.record_speed("demo-en-fr", tmp_path / "export.json")
    assert torch.get_num_threads() == threads
    made = read_json(tmp_path / "export.json")
    assert {"command", "commit", "hardware", "date"} < set(made)
    assert "1 thread" in made["hardware"]
    assert (made["model"], made["split"], made["rounds"]) == ("demo-en-fr", "test", 1)
    assert [made["figures"][name]["equal"] for name in ("ctranslate2", "onnx")] == [7, 7]
    assert set(made["with_beams"]) == {"ctranslate2"}  # the ONNX graphs' script is greedy


def test_readme_tells_what_is_recorded() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    records = [read_json(results_folder() / f"bench/export{of}.json") for of in ("_amd", "")]
    for row, figures, kind in (
        ("CTranslate2, greedy", "figures", "ctranslate2"),
        ("CTranslate2, 4 beams", "with_beams", "ctranslate2"),
        ("ONNX Runtime, greedy", "figures", "onnx"),
    ):
        found = [record[figures][kind] for record in records]
        together = [f"{each['together']['times_our_speed']:.2f}" for each in found]
        alone = [f"{each['one_by_one']['times_our_speed']:.1f}" for each in found]
        assert f"| {row}, in batches | {' | '.join(together)} |" in readme
        assert f"| {row}, one by one | {' | '.join(alone)} |" in readme
