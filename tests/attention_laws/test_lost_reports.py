"""What a child process has written is read before its end is reported, however slow the reader."""

import time
from typing import IO

import pytest

from attention_laws import sandbox
from attention_laws.report import LawResult, Report, Verdict
from attention_laws.sandbox import SandboxRequest, diagnose_in_sandbox

REQUEST = SandboxRequest(folder=".", module="my_model", name="make")
# In the place of our child, which would import torch: it sends one event and ends.
SEND = """
import json, os, sys, time
def send(**event):
    os.write(1, ("\\n" + json.loads(sys.argv[-1])["mark"] + json.dumps(event) + "\\n").encode())
"""
STOPS = SEND + "send(stopped='no module', mistake=True)\nos._exit(0)\n"
LEAVES_A_PROCESS = (
    SEND
    + "send(stopped='no module', mistake=False)\nif not os.fork(): os.setsid(); time.sleep(9)\n"
)


def use_child(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    escaped = code.replace("{", "{{").replace("}", "}}")
    monkeypatch.setattr(sandbox, "CHILD_CODE", escaped)


def test_what_a_child_told_before_it_ended_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    read_events = sandbox._ChildProcess._read_events

    def read_late(self: sandbox._ChildProcess, stream: IO[str]) -> None:
        time.sleep(0.7)
        read_events(self, stream)

    use_child(monkeypatch, STOPS)
    monkeypatch.setattr(sandbox._ChildProcess, "_read_events", read_late)
    report = diagnose_in_sandbox(REQUEST)
    assert (report.stopped, report.exit_status) == ("no module", 2)


def test_a_process_that_keeps_the_pipe_open_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_child(monkeypatch, LEAVES_A_PROCESS)
    monkeypatch.setattr(sandbox, "MAX_READING_SECONDS", 0.5)
    began = time.monotonic()
    report = diagnose_in_sandbox(REQUEST)
    assert report.stopped == "no module"
    assert time.monotonic() - began < 8


def test_a_law_lost_to_the_code_leaves_the_model_unjudged() -> None:
    def line(law: str, verdict: Verdict, lost: bool = False) -> LawResult:
        return LawResult(law, "It holds.", verdict, "seen", "a slip", "there", 0.1, lost=lost)

    kept = line("token_order_matters", Verdict.KEPT)
    lost = line("train_step_updates_all_weights", Verdict.NOT_TRIED, lost=True)
    report = Report((kept, lost))
    assert report.exit_status == 3
    assert "could not be judged: train_step_updates_all_weights" in str(report)
    closed = line("train_step_updates_all_weights", Verdict.NOT_TRIED)
    assert Report((kept, closed)).exit_status == 0
    broken = line("decoder_is_causal", Verdict.BROKEN)
    assert Report((broken, lost)).exit_status == 1
    # What is noted is shown, and no more.
    assert Report((line("a_law", Verdict.NOTED),)).exit_status == 0
