"""The first Ctrl-C is deferred; handlers of others, and other threads, are left alone."""

import io
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from transformer.training.interrupt import deferred_interrupt


@pytest.mark.usefixtures("default_handler")
def test_a_line_that_cannot_be_said_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class InTheMiddle(io.StringIO):
        def write(self, text: str) -> int:
            raise RuntimeError("reentrant call inside <_io.BufferedWriter>")

    monkeypatch.setattr(sys, "stderr", InTheMiddle())
    with deferred_interrupt() as pressed:
        signal.raise_signal(signal.SIGINT)
    assert pressed


@pytest.mark.usefixtures("default_handler")
def test_someone_elses_handler_stays() -> None:
    seen = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    with deferred_interrupt() as pressed:
        signal.raise_signal(signal.SIGINT)
    assert seen == [signal.SIGINT]
    assert not pressed


@pytest.mark.usefixtures("default_handler")
def test_another_thread_may_train() -> None:
    def work() -> list[int]:
        with deferred_interrupt() as pressed:
            return pressed

    with ThreadPoolExecutor() as pool:
        assert pool.submit(work).result() == []
