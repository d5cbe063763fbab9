"""Ctrl-C while training: noted, then obeyed; nobody else's handler is touched."""

import io
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from transformer.training.processes import NOTED, noted_interrupt


@pytest.fixture(autouse=True)
def default_handler() -> Iterator[None]:
    """Whatever the test runner does with Ctrl-C, begin with Python's own handler."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("ignored", [False, True])
def test_a_request_to_end_counts_where_it_interrupts(ignored: bool) -> None:
    # A shell without job control starts what runs in the background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with noted_interrupt() as pressed:
            signal.raise_signal(signal.SIGTERM)
            assert pressed == [signal.SIGTERM]
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_first_says_so_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with noted_interrupt():
        signal.raise_signal(signal.SIGINT)
        assert capsys.readouterr() == ("", f"{NOTED}\n")
    assert capsys.readouterr() == ("", "")


def test_a_line_that_cannot_be_said_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class InTheMiddle(io.StringIO):
        def write(self, text: str) -> int:
            raise RuntimeError("reentrant call inside <_io.BufferedWriter>")

    monkeypatch.setattr(sys, "stderr", InTheMiddle())
    with noted_interrupt() as pressed:
        signal.raise_signal(signal.SIGINT)
    assert pressed


def test_someone_elses_handler_stays() -> None:
    seen = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    with noted_interrupt() as pressed:
        signal.raise_signal(signal.SIGINT)
    assert seen == [signal.SIGINT]
    assert not pressed


def test_another_thread_may_train() -> None:
    entered = []

    def work() -> None:
        with noted_interrupt() as pressed:
            entered.append(list(pressed))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [[]]
