"""Somebody's code in the sandbox: whatever it does, the command ends and reports it."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attention_laws import command_line
from attention_laws.command_line import main
from attention_laws.errors import UserError
from attention_laws.factory import (
    import_and_call_factory,
    prepended_to_sys_path,
    to_adapter_or_pipeline,
)
from attention_laws.report import Report
from attention_laws.sandbox import LAWS_BY_NAME, SandboxRequest, diagnose_in_sandbox
from tests.helpers import ROOT, python, weekly

pytestmark = pytest.mark.slow

HOSTILE = """
import ctypes, os, sys, time
import torch
from torch import nn
from attention_laws import Adapter
from sound import EncoderDecoder

def around(act):
    class Acts(EncoderDecoder):
        def forward(self, src, tgt_in):
            act()
            return super().forward(src, tgt_in)
    return Acts

def raises(error):
    raise error

class Evil(BaseException):
    def __str__(self):
        raise self

def later(act):
    count = iter(range(10**9))
    return lambda: act() if next(count) >= 40 else None

exits = around(lambda: sys.exit(0))
quits = around(lambda: os._exit(0))
crashes = around(lambda: ctypes.string_at(0))
loops = around(lambda: time.sleep(1e6))
quits_later = around(later(lambda: os._exit(0)))
loops_later = around(later(lambda: time.sleep(1e6)))
raises_evil = around(lambda: raises(Evil()))
interrupts_later = around(later(lambda: raises(KeyboardInterrupt())))
shouts = around(lambda: print("shout " * 4000))
hoards = around(lambda: torch.zeros(2**40))

def adapter_that_raises():
    never = lambda src, tgt_in: raises(RuntimeError("never"))
    return Adapter(forward=never, src_vocab_size=9, tgt_vocab_size=9, module=EncoderDecoder())

class OwnTrain(EncoderDecoder):
    def train(self):
        return None

class Cyclic(EncoderDecoder):
    def __init__(self):
        super().__init__()
        self.me = self

def forge():
    os.write(3, b'{"done": true}\\n')
    sys.exit(0)

forges = around(forge)

exits_at_once = lambda: sys.exit(0)
asks = lambda: input()

def slow_train_step():
    from sound import make_adapter
    return make_adapter().replace(train_step=lambda *ids: time.sleep(1e6))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of theirs, with a sound model and hostile ones."""
    shutil.copy(ROOT / "experiments" / "laws" / "sound_model.py", tmp_path / "sound.py")
    (tmp_path / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


CASES = {
    "exits": (3, "SystemExit: 0"),
    "quits": (3, "it ended the process, with status 0"),
    "crashes": (3, "SIGSEGV"),
    "loops": (3, "did not end within 1 s"),
    "raises_evil": (3, "Evil: without a message"),
    "adapter_that_raises": (3, "RuntimeError: never"),
    "forges": (3, "SystemExit: 0"),
    "exits_at_once": (2, "SystemExit: 0"),
    "asks": (2, "EOFError"),
    "hoards": (2, "can't allocate memory"),
    "OwnTrain": (1, "dropout_is_active_in_training: In training mode"),
    "Cyclic": (0, ""),
    "shouts": (0, ""),
    "quits_later": (3, "it ended the process, with status 0"),
    "loops_later": (3, "did not end within 1 s"),
    "interrupts_later": (3, "KeyboardInterrupt"),
    "slow_train_step": (3, "did not end within 1 s"),
}


WEEKLY = (
    "quits",
    "quits_later",
    "crashes",
    "loops",
    "loops_later",
    "raises_evil",
    "adapter_that_raises",
    "exits_at_once",
)
FEW = ("Cyclic", "shouts", "loops_later", "slow_train_step")  # laws are enough


@pytest.mark.parametrize("name", [weekly(each) if each in WEEKLY else each for each in CASES])
def test_the_command_ends_and_reports_why(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "attention_laws.sandbox.MAX_LOADING_SECONDS", 1.0 if name == "loops" else 60.0
    )
    status, said = CASES[name]
    seconds = "1" if "within" in said else "60"
    few = (
        ("--only", "train_step_updates_all_weights,logits_have_expected_shape,decoder_is_causal")
        if name in FEW
        else ()
    )
    assert main([f"hostile:{name}", "--seconds", seconds, *few]) == status
    out, err = capsys.readouterr()
    assert said in out + err
    assert len(err) < 25_000
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform != "linux", reason="another system does not end it")
def test_their_code_ends_with_a_command_that_is_killed(folder: Path) -> None:
    code = "import os, time\n\ndef make():\n    os.rename('starts', str(os.getpid()) + '.pid')\n"
    (folder / "endless.py").write_text(f"{code}    time.sleep(1e6)\n", encoding="utf-8")
    (folder / "starts").touch()
    command = subprocess.Popen([sys.executable, "-m", "attention_laws", "endless:make"])
    while not (files := list(folder.glob("*.pid"))):
        assert command.poll() is None
        time.sleep(0.05)
    command.kill()
    command.wait()
    theirs = Path("/proc") / files[0].stem / "stat"
    # What has ended may stay in the table as a zombie, Z, where nobody waits for it.
    since = time.monotonic()
    while theirs.exists() and theirs.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() - since < 60
        time.sleep(0.05)


@pytest.mark.parametrize("by_file", [False, weekly(True)])
def test_no_module_of_theirs_shadows_ours_nor_the_reverse(folder: Path, by_file: bool) -> None:
    """Their files have the names of our modules, and their model is not sound."""
    text = (folder / "sound.py").read_text(encoding="utf-8")
    assert text.count(".tril(start)") == 1
    names = ("config", "model", "train", "utils", "report", "law", "data")
    for name in names:
        (folder / f"{name}.py").write_text(f"NAME = {name!r}\n", encoding="utf-8")
    uses = f"import {', '.join(names)}\nassert data.NAME == 'data'\n"
    code = text.replace(".tril(start)", ".tril(start + 1)").replace('"""\n', f'"""\n{uses}', 1)
    (folder / "transformer.py").write_text(code, encoding="utf-8")
    target = "transformer.py:make_model" if by_file else "transformer:make_model"
    assert main([target, "--only", "decoder_is_causal,logits_have_expected_shape"]) == 1
    (folder / "transformer.py").unlink()
    package = folder / "transformer"
    package.mkdir()
    (package / "__init__.py").write_text("from .net import make_model\n", encoding="utf-8")
    (package / "net.py").write_text(code, encoding="utf-8")
    target = "transformer/net.py:make_model" if by_file else "transformer:make_model"
    assert main([target, "--only", "decoder_is_causal,logits_have_expected_shape"]) == 1
    assert str(folder) not in sys.path


@pytest.mark.weekly
def test_without_numpy_nothing_is_said_of_it(folder: Path) -> None:
    missing = 'raise ModuleNotFoundError("No module named numpy", name="numpy")'
    (folder / "missing").mkdir()
    (folder / "missing" / "numpy.py").write_text(missing, encoding="utf-8")
    path = os.pathsep.join([str(folder / "missing"), str(ROOT)])
    command = ("-P", "-m", "attention_laws", "sound:make_model", "--only", "decoder_is_causal")
    done = python(*command, env=os.environ | {"PYTHONPATH": path})
    assert done.stderr == ""


ONLY = ("logits_have_expected_shape", "all_padding_source_is_harmless")


def test_laws_are_chosen_made_strict_and_accepted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reports: dict[str, Report] = {}

    def diagnose_once(request: SandboxRequest) -> Report:
        """Start a process for each request, not again for one that was answered."""
        if str(request) not in reports:
            reports[str(request)] = diagnose_in_sandbox(request)
        return reports[str(request)]

    monkeypatch.setattr(command_line, "diagnose_in_sandbox", diagnose_once)
    only = ["sound:make_adapter", "--only", ",".join(ONLY)]
    assert main(only) == 0
    assert main([*only, "--strict"]) == 1
    (folder / "accepted.txt").write_text(
        "all_padding_source_is_harmless: none gets into a batch\n# so\n", "utf-8"
    )
    assert main([*only, "--strict", "--baseline", "accepted.txt"]) == 0
    out = capsys.readouterr().out
    assert (
        "ACCEPTED\n  all_padding_source_is_harmless: none gets into a batch (src [0, 0, 0, 0]"
        in out
    )
    assert main([*only, "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["lines"]
    assert {line["law"] for line in lines} == set(ONLY)
    assert len(reports) == 1
    skipped = [name for name in LAWS_BY_NAME if name != ONLY[0]]
    assert command_line.chosen_law_names([], skipped) == [ONLY[0]]


def test_what_cannot_be_tried_is_told_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = ["sound:make_adapter", "--only", ",".join(ONLY)]
    (folder / "accepted.txt").write_text("all_padding_source_is_harmless:\n", "utf-8")
    for typed, said in (
        (["sound:make_adapter", "--only", "no_such_law"], "there is no law 'no_such_law'"),
        ([*only, "--baseline", "accepted.txt"], "all_padding_source_is_harmless has no reason"),
        ([*only, "--baseline", "nowhere.txt"], "no baseline can be read"),
        (["sound"], "sound is not MODULE:NAME"),
        (["nowhere/sound.py:make_model"], "there is no file"),
        (["nowhere.within:make"], "'nowhere'"),  # which its process tells
    ):
        assert main(typed) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line
        assert "importlib" not in line


def test_what_is_no_model_is_told_by_the_process_that_imports_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "sound", raising=False)
    for module, name, options, said in (
        ("sound", "make_adpter", {}, "did you mean 'make_adapter'?"),
        ("nowhere", "make", {}, "'nowhere'"),
        ("sound", "PAD", {}, "int"),
        ("sound", "make_adapter", {"pad_id": 1}, "--pad-id"),
        ("sound", "make_model", {"masks": "may"}, "there is no way 'may' to write masks"),
    ):
        with prepended_to_sys_path(folder), pytest.raises(UserError, match=re.escape(said)):
            to_adapter_or_pipeline(import_and_call_factory(module, name), options)
    sys.modules.pop("sound", None)
