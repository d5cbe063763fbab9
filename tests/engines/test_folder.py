"""An exported folder is whole or not there, and serves without the course."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engines import folder
from engines.folder import export_model
from transformer.support.errors import UserError

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
    assert "`embedded` (CC BY 4.0)" in page
    assert "{" not in page
    packages = page.partition("pip install ")[2].splitlines()[0].split()
    assert packages == [{"onnx": "onnxruntime"}.get(engine, engine), "tokenizers"]


def test_translate_py_needs_nothing_of_the_course(
    exported: Export, engine: str, tmp_path: Path
) -> None:
    """An empty line stays empty; blanks and apostrophes are as one types them."""
    command = [sys.executable, "-W", "error", "-c", ALONE]
    said = subprocess.run(
        [*command, str(exported("demo-en-fr", engine) / "translate.py")],
        input="The  dog sleeps.\n\nThe old woman is reading a book.\nThe dog doesn’t sleep.\n",
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert said.stderr == ""
    first, second, third, _ = said.stdout.splitlines()
    assert (first.partition(" chien ")[0], second) == ("Le", "")
    assert third == "La vieille femme lit un livre."


def test_what_is_there_is_not_overwritten(engine: str, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept", encoding="utf-8")
    for out in (tmp_path, tmp_path / "mine"):
        with pytest.raises(UserError, match=r"exists: remove it first, or give another folder"):
            export_model("demo-en-fr", engine, out)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("demo-lstm", "demo-lstm is an LSTM, and only Transformers are exported"),
        ("demo-parser", "this model's tokens are words"),
        ("nobody", "no model folder 'nobody'"),
    ],
)
def test_what_cannot_be_exported_says_so(
    engine: str, tmp_path: Path, model: str, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        export_model(model, engine, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'onnx'"):
        export_model("demo-en-fr", "onx", tmp_path / "out")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"onnx is not installed: python -m pip install onnx"):
        export_model("demo-en-fr", "onnx", tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_an_export_that_is_cut_short_leaves_nothing(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "write_tokenizer", full)  # after the weights
    with pytest.raises(OSError, match="No space"):
        export_model("demo-en-fr", engine, tmp_path / "out")
    assert not list(tmp_path.iterdir())
