"""A long loop says how far it is, on a terminal alone, and loses no item."""

import sys
from io import StringIO
from pathlib import Path

import pytest

from tests.helpers.terminal import Terminal
from transformer.support import progress
from transformer.support.progress import (
    chunks_with_progress,
    open_file_with_progress,
    with_progress,
)


@pytest.mark.parametrize(("stream", "shown"), [(Terminal, True), (StringIO, False)])
def test_a_terminal_sees_the_share_and_the_time_left_and_a_file_nothing(
    stream: type[StringIO], shown: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BEFORE_PROGRESS", 0.0)
    monkeypatch.setattr(sys, "stderr", stream())
    assert list(with_progress(range(7), "counting", "words")) == [*range(7)]
    chunks = list(chunks_with_progress("abcdefg", 3, "encoding", "sentences"))
    assert chunks == ["abc", "def", "g"]
    (tmp_path / "seven").write_bytes(b"abcdefg")
    with open_file_with_progress(tmp_path / "seven", "reading") as file:
        assert [file.read(3), file.read(3), file.read(3)] == [b"abc", b"def", b"g"]
    written = sys.stderr.getvalue()  # type: ignore[attr-defined]
    for description in ("counting", "encoding", "reading"):
        lines = [line for line in written.split("\r") if description in line]
        assert bool(lines) == shown
        # The time left stands after "<".
        assert any("/7.00" in line and "<" in line for line in lines) == shown


def test_a_short_loop_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(with_progress(range(7), "counting", "words")) == [*range(7)]
    assert list(chunks_with_progress([], 3, "counting", "words")) == []
    assert "counting" not in sys.stderr.getvalue()  # type: ignore[attr-defined]
