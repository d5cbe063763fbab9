"""An exported folder is whole or not there, and serves without the course."""

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from attention_course.command_line import main
from engines import folder
from engines.folder import export_model
from tests.helpers import python
from transformer.support.errors import UserError

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
Export = Callable[[str, str], Path]
FILES = {
    "ctranslate2": {"model.bin", "config.json", "shared_vocabulary.json"},
    "onnx": {"encoder.onnx", "decoder.onnx"},
}
COMMON = {"README.md", "src_tokenizer.json", "tgt_tokenizer.json", "translate.py"}
# Stands for a machine without the course and its larger packages.
ALONE = """
import builtins, runpy, sys
real = builtins.__import__
def without(name, *rest, **more):
    assert name.split(".")[0] not in {"transformer", "torch", "spacy"}, name
    return real(name, *rest, **more)
builtins.__import__ = without
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def test_it_holds_what_serving_needs(exported: Export, engine: str) -> None:
    out = exported("demo-en-fr", engine)
    assert {path.name for path in out.iterdir()} == FILES[engine] | COMMON
    page = (out / "README.md").read_text(encoding="utf-8")
    assert f"export demo-en-fr --to {engine}`" in page
    assert "`embedded`" in page
    assert "CC BY 4.0" in page
    assert "{" not in page
    packages = page.partition("pip install ")[2].splitlines()[0].split()
    assert packages == [{"onnx": "onnxruntime"}.get(engine, engine), "tokenizers"]


@pytest.mark.slow
def test_translate_py_needs_nothing_of_the_course(
    exported: Export, engine: str, tmp_path: Path
) -> None:
    """An empty line stays empty; blanks and apostrophes are as one types them."""
    text = "The  dog sleeps.\n\nThe old woman is reading a book.\nThe dog doesn’t sleep.\n"
    where = {"cwd": tmp_path, "env": os.environ | {"PYTHONIOENCODING": "ascii"}}
    script = exported("demo-en-fr", engine) / "translate.py"
    process = python("-W", "error", "-c", ALONE, script, input=text, encoding="utf-8", **where)
    assert process.stderr == ""
    first, second, third, _ = process.stdout.splitlines()
    assert (first.partition(" chien ")[0], second) == ("Le", "")
    assert third == "La vieille femme lit un livre."


def test_what_cannot_be_exported_says_so(engine: str, tmp_path: Path, monkeypatch: Patch) -> None:
    out = tmp_path / "out"
    for model, wanted, message in (
        ("demo-lstm", engine, "demo-lstm is an LSTM encoder-decoder, and only"),
        ("demo-parser", engine, "this model's tokens are words"),
        ("nobody", engine, "no model folder 'nobody'"),
        ("demo-en-fr", "onx", "did you mean 'onnx'"),
    ):
        with pytest.raises(UserError, match=message):
            export_model(model, wanted, out)
    for there in (tmp_path, tmp_path / "file"):
        (tmp_path / "file").touch()
        with pytest.raises(UserError, match=r"exists: remove it first .*, or give another folder"):
            export_model("demo-en-fr", engine, there)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"onnx is not installed: python -m pip install onnx"):
        export_model("demo-en-fr", "onnx", out)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_export_that_is_cut_short_leaves_nothing(
    engine: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "write_tokenizer_json", full)  # after the weights
    message = (
        r"cannot write .*out \(No space left on device\), and nothing of it is left: make room"
    )
    with pytest.raises(UserError, match=message):
        export_model("demo-en-fr", engine, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_an_export_takes_the_place_of_an_earlier_one_and_of_nothing_else(
    engine: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    out = tmp_path / "out"
    export_model("demo-en-fr", engine, out, replace=True)  # there is none yet
    (out / "of_before").touch()
    with monkeypatch.context() as patch:
        patch.setattr(folder, "write_tokenizer_json", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            export_model("demo-fr-en", engine, out, replace=True)
    assert (out / "of_before").exists()
    export_model("demo-fr-en", engine, out, replace=True)
    assert not (out / "of_before").exists()
    assert "demo-fr-en" in (out / "README.md").read_text(encoding="utf-8")
    (out / "translate.py").unlink()
    with pytest.raises(UserError, match="so it is no export"):
        export_model("demo-en-fr", engine, out, replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_where_it_is_and_how_to_try_it_is_said(capsys: Capture, monkeypatch: Patch) -> None:
    asked: list[tuple[str, str, Path, bool]] = []
    monkeypatch.setattr(folder, "export_model", lambda *arguments: asked.append(arguments))
    for model, engine, options, out in (
        ("demo-en-fr", "onnx", [], "runs/demo-en-fr-onnx"),
        ("demo-en-fr", "onnx", ["--out", "my served"], "my served"),
        ("runs/mine/", "ctranslate2", [], "runs/mine-ctranslate2"),
    ):
        assert main(["export", model, "--to", engine, *options]) == 0
        assert asked.pop() == (model, engine, Path(out), False)
        first, second = capsys.readouterr().out.splitlines()
        assert first == out
        assert second.startswith('try: echo "..." | python ')
        assert second.strip("'").endswith(f"{out}/translate.py")
