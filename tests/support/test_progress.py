"""A long loop says how far it is, on a terminal alone, and loses no item."""

import sys
from io import StringIO

import pytest

from transformer.support import progress
from transformer.support.progress import chunks_with_progress, with_progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal, True), (StringIO, False)])
def test_a_terminal_sees_the_share_and_the_time_left_and_a_file_nothing(
    stream: type[StringIO], shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BEFORE_PROGRESS", 0.0)
    monkeypatch.setattr(sys, "stderr", stream())
    assert list(with_progress(range(7), "counting", "words")) == [*range(7)]
    chunks = list(chunks_with_progress("abcdefg", 3, "encoding", "sentences"))
    assert chunks == ["abc", "def", "g"]
    written = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert ("counting" in written) == ("encoding" in written) == ("/7.00" in written) == shown
    assert ("<" in written) == shown  # the time left stands after it


def test_a_short_loop_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(with_progress(range(7), "counting", "words")) == [*range(7)]
    assert list(chunks_with_progress([], 3, "counting", "words")) == []
    assert "counting" not in sys.stderr.getvalue()  # type: ignore[attr-defined]
