"""The command `attention-laws init` writes an Adapter that has what was found."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from attention_laws.adapter_source import adapter_source
from attention_laws.bare_module import adapter_from_module
from attention_laws.command_line import main
from attention_laws.errors import UserError
from experiments.laws.sound_model import EncoderDecoder, make_adapter
from tests.helpers import ROOT


def test_an_adapter_is_written_that_has_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Theirs(EncoderDecoder):
        def __init__(self) -> None:
            super().__init__()
            self.src_pad_idx, self.trg_pad_idx = 0, 4

    theirs = ModuleType("their_model")
    theirs.build = Theirs  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "their_model", theirs)
    found = adapter_from_module(Theirs(), eos_id=5)
    text = adapter_source(found, "their_model", "build", "mine")
    names: dict[str, Any] = {}
    exec(compile(text, "mine.py", "exec"), names)
    written = names["make"]()
    for name in ("pad_id", "tgt_pad_id", "bos_id", "eos_id", "src_vocab_size", "tgt_vocab_size"):
        assert getattr(written, name) == getattr(found, name), name
    # Each commented line is one that an Adapter takes.
    text = text.replace("# untrained=", "untrained=")
    exec(compile(text, "mine.py", "exec"), names)
    assert names["make"]().untrained
    with pytest.raises(UserError, match="its own Adapter"):
        adapter_source(make_adapter(), "their_model", "build", "mine")


@pytest.mark.weekly
def test_the_command_writes_the_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = ROOT / "experiments" / "laws" / "sound_model.py"
    (tmp_path / "sound.py").write_text(sound.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["init", "sound:make_model", "--out", "mine.py"]) == 0
    assert main(["mine.py:make", "--only", "decoder_is_causal"]) == 0
    assert main(["init", "sound:make_adapter", "--out", "other.py"]) == 2
    # Of a file in another folder it is written beside that, where it can import it.
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["init", "../sound.py:make_model"]) == 0
    assert main(["../laws_adapter.py:make", "--only", "decoder_is_causal"]) == 0


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("taken.py", "is there already"),
        ("folder/mine.py", "cannot be imported"),
        ("mine.txt", "no name of a module"),
        ("my-laws.py", "no name of a module"),
    ],
)
def test_a_file_that_could_not_be_used_is_not_written(
    out: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "taken.py").touch()
    assert main(["init", "sound:make_model", "--out", out]) == 2
    assert said in capsys.readouterr().err
    assert [file.name for file in tmp_path.rglob("*.*")] == ["taken.py"]
