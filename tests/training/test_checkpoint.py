"""What a run says, and what it may be gone on with; that it goes on exactly, test_loop shows."""

from dataclasses import replace
from pathlib import Path

import pytest

from transformer.support.errors import UserError
from transformer.training.loop import TrainingResult
from transformer.training.report import Report, duration, read_log
from transformer.training.run import require_same

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
    assert {seconds: duration(seconds) for seconds in told} == told


def test_a_result_says_what_is_where() -> None:
    out = Path("runs/a")
    done = TrainingResult(17, 2, 125, out, 1.5, final_loss=1.25, final_from="average")
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


def test_only_the_steps_may_be_others() -> None:
    begun: dict[str, object] = {"name": "a", "model": {"d_model": 8}}
    require_same(begun | {"steps": 5}, begun | {"steps": 7})
    for given, message in (
        (begun | {"name": "b"}, "begun with name=a and cannot go on with name=b"),
        (begun | {"model": {"d_model": 7}}, "d_model=8 and cannot go on with d_model=7"),
        (begun | {"new": 1}, "new=None and cannot go on with new=1"),
        ({"model": {"d_model": 8}}, "name=a and cannot go on with name=None"),
    ):
        with pytest.raises(UserError, match=message):
            require_same(begun, given)
