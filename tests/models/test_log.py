"""A run's log: a line a report, cut where a kill left it, refused where it is none."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from transformer.models.log import (
    Report,
    append_log,
    duration,
    read_log,
    truncate_log,
)
from transformer.support.errors import UserError

REPORT = Report(
    kind="training",
    step=500,
    steps=2500,
    epoch=3,
    loss=3.2109,
    learning_rate=0.00211,
    tokens_per_second=10_400.4,
    seconds=181.0,
    seconds_left=724.0,
)
VALIDATION = replace(
    REPORT, kind="validation", loss=7.5, tokens_per_second=None, note="best so far"
)


def test_a_report_is_one_line() -> None:
    assert str(REPORT) == (
        "step 500/2500 · epoch 3 · loss 3.21 · ppl 24.8 · lr 0.0021 · 10,400 tokens/s · 12 min left"
    )
    assert str(VALIDATION) == (
        "step 500/2500 · epoch 3 · validation loss 7.50 · ppl 1,808 · best so far"
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (89, "89 s"),
        (90, "2 min"),
        (724, "12 min"),
        (5369, "89 min"),
        (5400, "1 h 30 min"),
        (3 * 3600, "3 h 0 min"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_log_has_one_object_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    append_log(path, REPORT)
    append_log(path, VALIDATION)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == read_log(path)
    assert [line["kind"] for line in lines] == ["training", "validation"]
    assert lines[0].keys() == {
        "kind", "step", "epoch", "loss", "perplexity",
        "learning_rate", "tokens_per_second", "seconds",
    }  # fmt: skip
    assert lines[0]["loss"] == 3.2109
    assert lines[1]["tokens_per_second"] is None


def test_truncating_drops_later_steps_and_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for step in (2, 3, 5, 7):
        append_log(path, replace(REPORT, step=step))
    with path.open("a") as file:
        file.write('{"kind": "trai')
    assert [line["step"] for line in read_log(path)] == [2, 3, 5, 7]
    truncate_log(path, 5, 5)
    append_log(path, replace(REPORT, step=6))
    assert [line["step"] for line in read_log(path)] == [2, 3, 5, 6]


def test_truncating_drops_a_validation_that_was_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for step in (3, 5):
        append_log(path, replace(REPORT, step=step))
        append_log(path, replace(VALIDATION, step=step))
    truncate_log(path, 5, 3)
    left = [(line["kind"], line["step"]) for line in read_log(path)]
    assert left == [("training", 3), ("validation", 3), ("training", 5)]


@pytest.mark.parametrize("content", [b"not json\n{}\n", b"\xff\xfe\n"])
def test_foreign_log(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log.jsonl").write_bytes(content)
    with pytest.raises(UserError, match="cannot read the log"):
        read_log(tmp_path / "log.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_full_disk() -> None:
    with pytest.raises(UserError, match=r"No space left on device.* is unharmed"):
        append_log(Path("/dev/full"), REPORT)
