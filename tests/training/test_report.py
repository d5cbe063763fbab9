"""What a run reports: as a line to show, in its log, and at its end."""

from dataclasses import replace
from pathlib import Path

import pytest

from transformer.support.errors import UserError
from transformer.training.report import Report, format_duration, read_log
from transformer.training.result import TrainingResult

REPORT = Report(
    kind="training",
    step=500,
    epoch=3,
    loss=3.2109,
    learning_rate=0.00211,
    tokens_per_second=10_400.4,
    seconds=181.0,
    perplexity=24.8012,
    steps=2500,
    seconds_left=724.0,
)
VALIDATION = replace(
    REPORT, kind="validation", loss=7.5, perplexity=1808.0, tokens_per_second=None, note="best"
)


def test_a_report_is_one_line() -> None:
    assert str(REPORT) == (
        "step 500/2500 · epoch 3 · loss 3.21 · ppl 24.8 · lr 0.0021 · 10,400 tokens/s · 12 min left"
    )
    assert str(VALIDATION) == "step 500/2500 · epoch 3 · validation loss 7.50 · ppl 1,808 · best"


def test_duration() -> None:
    told = {0.4: "0 s", 89: "89 s", 90: "2 min", 5369: "89 min", 5400: "1 h 30 min"}
    assert {seconds: format_duration(seconds) for seconds in told} == told


def test_a_result_says_what_is_where() -> None:
    out = Path("runs/a")
    done = TrainingResult(
        step=17,
        epoch=2,
        seconds=125,
        out=out,
        best_loss=1.5,
        final_loss=1.25,
        final_from="average",
    )
    assert str(done) == (
        f"done in 2 min, 17 steps: the average is kept as {out / 'model.safetensors'}, "
        "validation loss 1.250"
    )
    stopped = replace(done, final_loss=None, final_from="")
    assert str(stopped) == f"stopped after step 17: all is kept in {out}, resume to go on"


def test_a_log_is_read_without_a_line_that_a_kill_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"step": 2}\n{"step": 3}\n{"kind": "trai')
    assert [line["step"] for line in read_log(path)] == [2, 3]
    for content in (b"not json\n{}\n", b"\xff\xfe\n"):
        path.write_bytes(content)
        with pytest.raises(UserError, match="cannot read the log"):
            read_log(path)
