"""What a user may bring that cannot be used: one line, status 2, nothing written or lost.

Wrong names and options are in test_command_line.py; here are corpora, model folders and disks.
"""

import fcntl
import io
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from tests.helpers import TINY
from transformer.__main__ import main
from transformer.models.checkpoint import load_tensors
from transformer.models.folder import read_recipe, write_recipe
from transformer.training import runner
from transformer.training.interrupt import NOTED

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
TINY_SETTINGS = [part for key, value in TINY.items() for part in ("--set", f"{key}={value}")]
TINY_DEMO = ["train", "demo", *TINY_SETTINGS]


def fails(capsys: Capture, *arguments: object) -> str:
    """Run a command that must fail, and give the one line that says why."""
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


def type_in(monkeypatch: Patch, text: str) -> None:
    """Make standard input hold this."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def snapshot(folder: Path, but: str = "") -> dict[str, bytes]:
    """Every file's content by its path, but for those of one name."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != but]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture
def model(tiny_folder: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model folder, to be damaged."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "model"))


# --- help ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        *("", "train", "translate", "evaluate", "corpora", "corpora fetch", "corpora verify"),
        *("diagnose", "export"),
    ],
)
def test_help_shows_an_example(command: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--help"])
    assert ended.value.code == 0
    _, _, examples = capsys.readouterr().out.partition("\nexample")
    assert f"python -m transformer {command}".strip() in examples


# --- corpora ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("src", "tgt", "says"),
    [
        ("eins\nzwei\ndrei\n", "one\ntwo\n", "3 lines of de, 2 of en"),
        ("", "", "no sentence pair in 1 lines"),
        (" \n\n", "\t\n\n", "no sentence pair in 2 lines"),
    ],
)
def test_a_corpus_that_cannot_be_used(
    src: str, tgt: str, says: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    # The one corpus that users bring themselves: all others have known check sums.
    (tmp_path / "iwslt").mkdir()
    (tmp_path / "iwslt" / "train.tags.de-en.de").write_text(src, encoding="utf-8")
    (tmp_path / "iwslt" / "train.tags.de-en.en").write_text(tgt, encoding="utf-8")
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path))
    settings = ["--set", "corpus=iwslt", "--set", "src_lang=de", "--set", "tgt_lang=en"]
    assert says in fails(capsys, "train", "demo", *settings, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_missing_and_a_corrupted_file(
    shared_data: Path, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    from transformer.data import download

    monkeypatch.setattr(download, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path))
    assert main(["corpora", "verify", "tatoeba"]) == 2
    out, err = capsys.readouterr()
    assert out == f"missing  {tmp_path / 'cache' / 'tatoeba' / 'data.zip'}\n"
    assert err == (
        "error: missing: tatoeba/data.zip (1 of 1 files); get them with python -m transformer "
        "corpora fetch tatoeba, or set TRANSFORMER_DATA to a folder that holds them\n"
    )

    shutil.copytree(shared_data / "tatoeba", tmp_path / "tatoeba")
    own = tmp_path / "tatoeba" / "data.zip"
    assert main(["corpora", "verify", "tatoeba"]) == 0
    assert main(["corpora", "fetch", "tatoeba"]) == 0
    assert capsys.readouterr() == (f"ok       {own}\n{own}\n", "")
    content = own.read_bytes()
    damaged = content[:-1] + bytes([content[-1] ^ 1])
    own.write_bytes(damaged)
    assert f"corrupted: {own}; delete" in fails(capsys, "corpora", "verify", "tatoeba")
    assert f"{own} is corrupted" in fails(capsys, "corpora", "fetch", "tatoeba")
    command = ["train", "demo", "--set", "corpus=tatoeba", "--out", tmp_path / "run"]
    assert f"{own} is corrupted" in fails(capsys, *command)
    assert own.read_bytes() == damaged  # the user's own file is left as it is
    assert not (tmp_path / "run").exists()


def test_a_data_folder_that_is_none(capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setenv("TRANSFORMER_DATA", "/nowhere")
    assert "TRANSFORMER_DATA is '/nowhere'" in fails(capsys, "corpora", "verify", "multi30k")


# --- settings that only the text shows to be wrong -------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("batch_tokens=5", "batch_tokens is 5, and the longest sentence has"),
        ("max_train_tokens=1", "none of the 20000 pairs has 1 to 1 tokens"),
        ("max_len=20", "max_train_tokens 100 and an end mark are more than max_len 20"),
    ],
)
def test_settings_that_do_not_fit_the_text(
    setting: str, says: str, tmp_path: Path, capsys: Capture
) -> None:
    assert says in fails(capsys, "train", "demo", "--set", setting, "--out", tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_words_that_are_all_too_rare(tmp_path: Path, capsys: Capture) -> None:
    settings = ["--set", "tokenizer=words", "--set", "min_frequency=999999"]
    said = fails(capsys, "train", "demo", *settings, "--out", tmp_path / "run")
    assert "no word is seen min_frequency = 999999 times" in said
    assert list(tmp_path.iterdir()) == []


# --- model folders -----------------------------------------------------------------------

READ = ["recipe.json", "src_tokenizer.json", "tgt_tokenizer.json", "model.safetensors"]


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "foreign", "binary", "folder"])
def test_a_damaged_model_folder(
    name: str, damage: str, model: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    path = model / name
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "missing":
        kinds = {"empty": b"", "truncated": content[: len(content) // 2], "foreign": b'{"a": 1}'}
        path.write_bytes(kinds.get(damage, b"\x80\x04\xff" * 50))
    type_in(monkeypatch, "The dog sleeps.\n")
    said = fails(capsys, "translate", model)
    assert str(model) in said
    assert name in said


def test_a_model_folder_with_a_part_of_another(
    model: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    write_recipe(model, read_recipe(model).override({"d_ff": "19"}))
    type_in(monkeypatch, "The dog sleeps.\n")
    assert "model.safetensors does not fit this model" in fails(capsys, "translate", model)


@pytest.mark.parametrize("name", ["run.json", "log.jsonl"])
def test_a_record_of_a_run_that_left_no_trace(
    name: str, model: Path, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    from transformer.models.translator import Translator

    def work(*_: object, **__: object) -> None:
        raise AssertionError("the work was begun")

    monkeypatch.setattr(Translator, "translate", work)
    (model / name).unlink()
    assert name in fails(capsys, "evaluate", model, "--record", tmp_path / "record.json")
    assert not (tmp_path / "record.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"half", b'{"a": 1}'])
def test_a_damaged_checkpoint_is_not_gone_on_from(
    content: bytes, model: Path, capsys: Capture
) -> None:
    (model / "checkpoints" / "last.safetensors").write_bytes(content)
    before = snapshot(model)
    command = [*TINY_DEMO, "--steps", "3", "--out", model, "--resume"]
    assert main([str(part) for part in command]) == 2
    err = capsys.readouterr().err
    assert "last.safetensors is cut short or not a safetensors file" in err
    assert err.count("\n") == 1
    assert snapshot(model) == before


@pytest.mark.slow
def test_fewer_steps_than_are_done(model: Path, capsys: Capture) -> None:
    before = snapshot(model)
    assert main([*TINY_DEMO, "--steps", "1", "--out", str(model), "--resume"]) == 2
    err = capsys.readouterr().err
    assert err.endswith("has done 2 steps already and cannot end at 1: give 2 steps or more\n")
    assert snapshot(model) == before


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("lost", ["checkpoints", "recipe.json"])
def test_a_model_is_not_overwritten_by_a_run_that_cannot_go_on(
    lost: str, resume: bool, model: Path, capsys: Capture
) -> None:
    if lost == "checkpoints":
        shutil.rmtree(model / lost)
    else:
        (model / lost).unlink()
    before = snapshot(model)
    command = [*TINY_DEMO, "--steps", "3", "--out", model, *(["--resume"] if resume else [])]
    assert f"error: {model} h" in fails(capsys, *command)  # has or holds
    assert snapshot(model) == before


def test_a_runs_state_given_as_weights(model: Path, capsys: Capture, monkeypatch: Patch) -> None:
    type_in(monkeypatch, "The dog sleeps.\n")
    state = model / "checkpoints" / "last.safetensors"
    assert "give best.safetensors or" in fails(capsys, "translate", model, "--weights", state)


# --- translate -------------------------------------------------------------------------


def test_one_line_in_is_one_line_out(
    tiny_folder: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    from transformer.models.translator import Translator

    def chatty(self: Translator, texts: list[str], *_: object, **__: object) -> list[str]:
        return [f"{text}\nand\r\nmore" for text in texts]

    monkeypatch.setattr(Translator, "translate", chatty)
    type_in(monkeypatch, "a\u2028b\nc\r\n")
    assert main(["translate", str(tiny_folder)]) == 0
    assert capsys.readouterr().out == "a b and more\nc and more\n"


def test_a_warning_is_said_once_and_the_filters_stay(
    tiny_folder: Path, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    before = warnings.showwarning, list(warnings.filters)
    type_in(monkeypatch, "the dog sees the cat and " * 60)
    options = ["--beam", "1", "--attention", str(tmp_path / "a.json")]  # encodes it again
    assert main(["translate", str(tiny_folder), *options]) == 0
    assert capsys.readouterr().err.count("warning: ") == 1
    assert (warnings.showwarning, list(warnings.filters)) == before


# --- disks -----------------------------------------------------------------------------


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """Let no file grow beyond some bytes: as on a full disk, a write fails half way."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.slow
@pytest.mark.parametrize("limit", [100, 30_000])  # at the tokenizers, at the first checkpoint
def test_a_full_disk_when_training_begins(limit: int, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "run"
    command = [*TINY_DEMO, "--steps", "2", "--out", str(out)]
    with full_disk(limit):
        assert main(command) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: cannot save ")
    assert err.count("\n") == 1
    assert not list(out.rglob("*.tmp"))
    begun = (out / "recipe.json").exists()
    assert begun == (limit > 100)
    assert main([*command, "--resume"] if begun else command) == 0


# --- Ctrl-C ------------------------------------------------------------------------------


def start(arguments: list[str], bufsize: int = -1) -> subprocess.Popen[str]:
    """Start a program as a shell's foreground does: Ctrl-C reaches it."""
    return subprocess.Popen(
        arguments,
        bufsize=bufsize,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="pipes have one size here")
def test_the_command_after_ctrl_c_ends_with_the_same_weights(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "transformer"]
    command = [*TINY_DEMO, "--set", "validate_every=40", "--steps", "80", "--out"]
    straight = start([*program, *command, str(tmp_path / "straight")])
    stopped = start([*program, *command, str(tmp_path / "st op")], bufsize=0)
    assert stopped.stdout is not None
    # A pipe of one page holds some forty reports: the run waits there until they are read.
    fcntl.fcntl(stopped.stdout.fileno(), fcntl.F_SETPIPE_SZ, 4096)
    while not stopped.stdout.readline().startswith("step 1/80 "):
        assert stopped.poll() is None
    stopped.send_signal(signal.SIGINT)
    out, err = stopped.communicate(timeout=120)
    assert (stopped.returncode, err) == (130, f"{NOTED}\n")
    said, _, again = out.splitlines()[-1].partition("; go on with: ")
    assert int(said.removeprefix("stopped after step ").partition(",")[0]) < 80
    expected = ["python", "-m", "transformer", *command, str(tmp_path / "st op"), "--resume"]
    assert shlex.split(again) == expected

    resumed = start([sys.executable, *shlex.split(again)[1:]])
    for run in (straight, resumed):
        assert run.communicate(timeout=120)[1] == ""
        assert run.returncode == 0
    for name in ("model.safetensors", "checkpoints/last.safetensors"):
        one, _ = load_tensors(tmp_path / "straight" / name)
        two, _ = load_tensors(tmp_path / "st op" / name)
        assert one.keys() == two.keys()
        assert all(torch.equal(one[key], two[key]) for key in one)


@pytest.mark.slow
def test_a_second_ctrl_c_names_the_command_that_goes_on(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    def press(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "train", press)
    command = [*TINY_DEMO, "--steps", "2", "--out", str(tmp_path / "run")]
    assert main(command) == 130
    again = shlex.join(["python", "-m", "transformer", *command, "--resume"])
    said = f"stopped at once; go on from what was last saved with: {again}\n"
    assert capsys.readouterr().err == said
    monkeypatch.setattr(runner.corpora, "load", press)  # before there is a run to go on with
    assert main([*command[:-1], str(tmp_path / "other")]) == 130
    assert capsys.readouterr().err == "stopped\n"


def test_ctrl_c_where_nothing_is_trained(capsys: Capture, monkeypatch: Patch) -> None:
    from transformer.data import corpora

    def press(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(corpora, "verify", press)
    assert main(["corpora", "verify", "multi30k"]) == 130
    assert capsys.readouterr() == ("", "stopped\n")
