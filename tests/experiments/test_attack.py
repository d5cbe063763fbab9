"""Nothing gets through; and the judge can say that something did."""

import subprocess

import pytest

from experiments.attack import ATTACKS, attack_all, judge


@pytest.mark.weekly
def test_nothing_gets_through() -> None:
    table, handled = attack_all(seed=1, share=0.2)
    assert handled, table
    assert len(table.splitlines()) == len(ATTACKS) + 2


@pytest.mark.parametrize(
    ("status", "said", "equal", "verdict"),
    [
        (2, b"error: no such thing: do this\n", False, "refused"),
        (2, b"warning: short\nerror: no such thing\n", False, "refused"),
        (2, b"error: one\nerror: two\n", True, "status 2"),
        (2, b"Traceback (most recent call last):\nerror: one\n", True, "status 2"),
        (70, b"error: KeyError: a\n", True, "status 70"),
        (-11, b"", True, "status -11"),
        (0, b"", True, "equal"),
        (0, b"", False, "another result"),
    ],
)
def test_how_an_attack_is_judged(status: int, said: bytes, equal: bool, verdict: str) -> None:
    ended = subprocess.CompletedProcess([], status, b"", said)
    assert judge(ended, lambda: equal).startswith(verdict)
