"""`export` from the command line; what it makes is tested in tests/engines."""

from pathlib import Path

import pytest

from engines import folder
from transformer.__main__ import main

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


@pytest.mark.parametrize(
    ("options", "out"), [((), "runs/demo-en-fr-onnx"), (("--out", "my served"), "my served")]
)
def test_where_it_is_and_how_to_try_it_is_said(
    options: tuple[str, ...], out: str, capsys: Capture, monkeypatch: Patch
) -> None:
    asked: list[tuple[str, str, Path]] = []
    monkeypatch.setattr(folder, "export_model", lambda *given: asked.append(given))
    assert main(["export", "demo-en-fr", "--to", "onnx", *options]) == 0
    assert asked == [("demo-en-fr", "onnx", Path(out))]
    first, second = capsys.readouterr().out.splitlines()
    assert first == out
    assert second.startswith('try: echo "..." | python ')
    assert second.strip("'").endswith(f"{out}/translate.py")


def test_a_models_folder_gives_the_name(monkeypatch: Patch) -> None:
    asked: list[tuple[str, str, Path]] = []
    monkeypatch.setattr(folder, "export_model", lambda *given: asked.append(given))
    assert main(["export", "runs/mine/", "--to", "ctranslate2"]) == 0
    assert asked[0][2] == Path("runs/mine-ctranslate2")


@pytest.mark.parametrize("engine", folder.ENGINES)
def test_every_engine_can_be_named(engine: str, capsys: Capture, tmp_path: Path) -> None:
    assert main(["export", "demo-en-fr", "--to", engine, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path} exists: remove it first, or give another folder\n"
    )


def test_another_engine_is_refused_in_a_line(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["export", "demo-en-fr", "--to", "onx"])
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "'ctranslate2', 'onnx'" in err
