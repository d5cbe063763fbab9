"""What a user may type or bring that cannot be used: one line, status 2, nothing written."""

import shutil
from pathlib import Path

import pytest
import torch

from tests.cli.conftest import Run, refused

Patch = pytest.MonkeyPatch


def test_no_command_and_none_that_is_known(run: Run) -> None:
    refused(run(), "COMMAND")
    refused(run("trian", "demo"), "trian", "train")


def test_train_refuses(run: Run, here: Path) -> None:
    (here / "file").write_text("mine")
    for typed, *said in (
        ("train", "RECIPE"),
        ("train dmeo", "unknown recipe 'dmeo'", "did you mean 'demo'?"),
        ("train demo --steps ten", "--steps", "'ten'"),
        ("train demo --steps 0", "steps is 0: give a whole number from 1 to"),
        ("train demo --set d_model", "--set d_model: give KEY=VALUE"),
        ("train demo --set dmodel=3", "unknown key 'dmodel'", "'d_model'"),
        ("train demo --set num_heads=3", "d_model 128 is not divisible"),
        ("train demo --set vocab_size=100", "vocab_size 100 is too small", "260"),
        ("train demo --set num_layers=65536", "num_layers is 65536: give a whole number from 1"),
        ("train demo --out=", "the path is empty: give the name"),
        ("train demo --set max_len=20", "max_train_tokens 100 and an end mark are more than"),
        ("train demo --set corpus=embeded", "unknown corpus", "'embedded'"),
        ("train demo --set src_lang=es", "embedded has no 'es-fr'"),
        ("train demo --resume", "runs/demo has nothing to resume"),
        ("train demo --out file", "file is not a folder"),
        ("train demo --out file/run", "file is not a folder"),
    ):
        refused(run(*typed.split()), *said)
    assert [path.name for path in here.iterdir()] == ["file"]
    assert (here / "file").read_text() == "mine"


@pytest.mark.skipif(torch.cuda.is_available(), reason="is refused where there is no GPU")
def test_train_refuses_cuda_graphs_without_a_gpu(run: Run, here: Path) -> None:
    refused(run("train", "demo", "--cuda-graphs"), "NVIDIA GPU", "leave --cuda-graphs out")
    assert list(here.iterdir()) == []


def test_train_refuses_what_only_the_text_shows_to_be_wrong(
    run: Run, few_sentences: None, here: Path
) -> None:
    for setting, said in (
        ("batch_tokens=5", "batch_tokens is 5, and the longest sentence has"),
        ("max_train_tokens=1", "none of the 1000 pairs has 1 to 1 tokens"),
        ("min_frequency=999999", "no word is seen min_frequency = 999999 times"),
    ):
        kind = "words" if "frequency" in setting else "bpe"
        refused(run("train", "demo", "--set", setting, "--set", f"tokenizer={kind}"), said)
    assert list(here.iterdir()) == []


def test_what_was_typed_is_not_echoed_at_any_length(
    run: Run, here: Path, monkeypatch: Patch
) -> None:
    endless = "ab " * 50_000
    monkeypatch.setenv("TRANSFORMER_DATA", endless)
    for typed in (
        (endless,),
        ("train", endless),
        ("train", "demo", "--steps", endless),
        ("train", "demo", "--set", f"{endless}=3"),
        ("train", "demo", "--out", endless),
        ("corpora", "fetch", "tatoeba"),
        ("translate", endless),
        ("evaluate", "demo-en-fr", "--record", endless),
        ("diagnose", f"a:{endless}"),
    ):
        status, _, err = run(*typed)
        assert (status, err.count("\n")) == (2, 1)
        assert len(err) < 1300, typed
    assert list(here.iterdir()) == []


def test_translate_refuses(run: Run, here: Path, tiny_folder: Path) -> None:
    (here / "folder.json").mkdir()
    (here / "file").touch()
    state = tiny_folder / "checkpoints" / "last.safetensors"
    for arguments, *said in (
        (["nowhere"], "no model folder 'nowhere'"),
        (["."], ". is no model folder: it has no recipe.json"),
        ([tiny_folder, "--beam", "x"], "--beam", "'x'"),
        ([tiny_folder, "--beam", 0], "beam_size is 0: give a whole number from 1"),
        ([tiny_folder, "--n-best", 5], "n_best is 5", "give a beam of 5 or more"),
        ([tiny_folder, "--n-best", 0], "n_best is 0"),
        ([tiny_folder, "--attention", "a.pdf"], "a.pdf: give a name that ends in"),
        ([tiny_folder, "--attention", "folder.json"], "folder.json"),
        ([tiny_folder, "--attention", "file/a.json"], "file is not a folder"),
        ([tiny_folder, "--weights", "none"], "none"),
        ([tiny_folder, "--head", 1], "give --attention FILE.png too"),
        ([tiny_folder, "--attention", "a.png", "--head", 3], "head is 3"),
        ([tiny_folder, "--attention", "a.png", "--layer", 2], "layer is 2"),
        ([tiny_folder, "--weights", state], "give best.safetensors or"),
    ):
        refused(run("translate", *arguments, stdin="A dog.\n"), *said)
    stdin = "a dog\nun café\n".encode("latin-1")
    refused(run("translate", tiny_folder, stdin=stdin), "line 2 of the input is not UTF-8", "0xe9")


def test_a_damaged_model_folder(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    for name in ("recipe.json", "src_tokenizer.json", "tgt_tokenizer.json", "model.safetensors"):
        model = Path(shutil.copytree(tiny_folder, tmp_path / name))
        whole = (model / name).read_bytes()
        (model / name).unlink()
        refused(run("translate", model, stdin="A dog.\n"), str(model), name)
        for content in (b"", whole[: len(whole) // 2], b'{"a": 1}', b"\x80\xff"):
            (model / name).write_bytes(content)
            refused(run("translate", model, stdin="A dog.\n"), str(model), name)


def test_evaluate_refuses(run: Run, here: Path, tiny_folder: Path) -> None:
    untraced = Path(shutil.copytree(tiny_folder, here.parent / "untraced"))
    (untraced / "run.json").unlink()
    for arguments, *said in (
        (["nowhere"], "no model folder 'nowhere'"),
        ([tiny_folder, "--alpha", "x"], "--alpha", "'x'"),
        ([tiny_folder, "--split", "test_long", "--alpha=-1"], "alpha is -1.0: give a number"),
        ([tiny_folder, "--split", "test_long", "--alpha=nan"], "alpha is nan: give a number"),
        ([tiny_folder, "--split", ""], "unknown split of embedded ''", "test_long"),
        ([tiny_folder, "--record", ""], "the path is empty"),
        ([tiny_folder, "--split", "tset"], "unknown split of embedded 'tset'", "'test'"),
        ([tiny_folder, "--record", here], f"{here} is a folder"),
        ([tiny_folder, "--record", "a/" * 1500], "has over 200 levels"),
        ([untraced, "--record", "a.json"], "run.json"),
    ):
        refused(run("evaluate", *arguments), *said)
    assert list(here.iterdir()) == []
