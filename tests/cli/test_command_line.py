"""The commands as people type them: what they print, and how they refuse."""

import io
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.helpers import TINY
from transformer.__main__ import main
from transformer.cli.commands import read_lines
from transformer.data import corpora
from transformer.data.parallel import tidy
from transformer.models.checkpoint import save_tensors, weights
from transformer.models.folder import read_description
from transformer.models.manifest import replace_listed
from transformer.models.translator import Translator
from transformer.support.errors import UserError

Run = Callable[..., tuple[int, str, str]]
TINY_SETTINGS = [word for key, value in TINY.items() for word in ("--set", f"{key}={value}")]
COMMAND = [sys.executable, "-m", "transformer"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process; give status, standard output and standard error."""

    def command(*arguments: str | Path, stdin: str | bytes = "") -> tuple[int, str, str]:
        content = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as ended:  # argparse
            status = int(ended.code or 0)
        output = capsys.readouterr()
        return status, output.out, output.err

    return command


def refused(result: tuple[int, str, str], *said: str) -> None:
    """Hold a result to what the course promises of every mistake."""
    status, out, err = result
    assert status == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    for words in said:
        assert words in err


# --help


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((), ["corpora", "train", "translate", "evaluate", "export", "diagnose"]),
        (("corpora",), ["list", "fetch", "verify"]),
        (("train",), ["--set", "--steps", "--out", "--resume", "demo", "multi30k-de-en"]),
        (("translate",), ["--beam", "--attention", "--refuse-long"]),
        (("evaluate",), ["--corpus", "--split", "--beam", "--alpha", "--record"]),
    ],
)
def test_help_names_what_there_is(run: Run, command: tuple[str, ...], words: list[str]) -> None:
    status, out, err = run(*command, "--help")
    assert (status, err) == (0, "")
    for word in words:
        assert word in out


@pytest.mark.parametrize(
    "command",
    [
        [],
        *(["corpora"], ["train"], ["translate"], ["evaluate"]),
        *(["diagnose"], ["export"]),
    ],
    ids=" ".join,
)
def test_help_needs_no_heavy_library(command: list[str]) -> None:
    code = (
        "import sys\n"
        "from transformer.__main__ import main\n"
        "try: main([*sys.argv[1:], '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'spacy', 'tokenizers', 'numpy'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"


# Mistakes that cost nothing


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], ["COMMAND"]),
        (["trian", "demo"], ["trian", "train"]),
        (["train"], ["RECIPE"]),
        (["train", "dmeo"], ["unknown recipe 'dmeo'", "did you mean 'demo'?"]),
        (["train", "demo", "--steps", "ten"], ["--steps", "'ten'"]),
        (["train", "demo", "--set=--"], ["argument --set: '--' is no value"]),
        (["export", "demo-en-fr", "--to=--"], ["argument --to: '--' is no value"]),
        (["train", "demo", "--steps", "0"], ["steps is 0: give 1 or more"]),
        (["train", "demo", "--set", "d_model"], ["--set d_model: give KEY=VALUE"]),
        (["train", "demo", "--set", "dmodel=3"], ["unknown key 'dmodel'", "'d_model'"]),
        (
            ["train", "demo", "--set", "num_heads=3"],
            ["d_model 128 is not divisible"],
        ),
        (["train", "demo", "--set", "vocab_size=100"], ["vocab_size 100 is too small", "260"]),
        (["train", "demo", "--set", "corpus=embeded"], ["unknown corpus", "'embedded'"]),
        (["train", "demo", "--set", "src_lang=es"], ["unknown language of embedded 'es'"]),
        (["train", "demo", "--resume"], ["nothing to resume in runs/demo"]),
        (["corpora", "fetch", "multi3k"], ["unknown corpus 'multi3k'", "'multi30k'"]),
        (["corpora", "verify", "tatoba"], ["unknown corpus 'tatoba'", "'tatoeba'"]),
        (["translate", "nowhere"], ["no model folder 'nowhere'"]),
        (["translate", "."], [". is no model folder: it has no recipe.json"]),
        (
            ["translate", "nowhere", "--beam", "0"],
            ["--beam", "'0': give a whole number"],
        ),
        (["translate", "nowhere", "--attention", "a.pdf"], ["a.pdf: give a name that ends in"]),
        (["evaluate", "nowhere"], ["no model folder 'nowhere'"]),
        (["evaluate", "nowhere", "--beam", "x"], ["--beam", "'x'"]),
        (["evaluate", "nowhere", "--alpha", "x"], ["--alpha", "'x': give a number from 0 to 10"]),
        (["evaluate", "nowhere", "--alpha=-1"], ["--alpha", "'-1'"]),
        (["evaluate", "nowhere", "--alpha", "inf"], ["--alpha", "'inf'"]),
        (["evaluate", "nowhere", "--alpha", "nan"], ["--alpha", "'nan'"]),
        (["evaluate", "nowhere", "--alpha", "400"], ["--alpha", "'400'"]),
        (["evaluate", "nowhere", "--beam", "9" * 5000], ["--beam", "give a whole number, 1 to"]),
    ],
)
def test_a_mistake_is_said_in_a_line_and_writes_nothing(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    said: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(run(*arguments), *said)
    assert list(tmp_path.iterdir()) == []


# corpora


def test_corpora_are_listed_with_their_terms(run: Run) -> None:
    status, out, _ = run("corpora", "list")
    assert status == 0
    for word in ("embedded", "multi30k", "tatoeba", "iwslt", "de-en", "test_2016_flickr", "CC BY"):
        assert word in out


def test_the_embedded_corpus_needs_no_download(run: Run) -> None:
    assert run("corpora", "fetch", "embedded") == (0, "embedded needs no download\n", "")
    assert run("corpora", "verify", "embedded")[0] == 0


def test_a_real_corpus_is_verified(
    run: Run, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(shared_data / "multi30k", tmp_path / "multi30k")
    (tmp_path / "multi30k" / "val.de.gz").write_bytes(b"something else")
    monkeypatch.setenv("TRANSFORMER_DATA", str(shared_data))
    status, out, err = run("corpora", "verify", "multi30k")
    assert f"ok       {shared_data}/multi30k/train.de.gz\n" in out
    assert (status, err[:15]) == ((2, "error: missing:") if "missing " in out else (0, ""))
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path))
    refused(run("corpora", "verify", "multi30k"), f"corrupted: {tmp_path}/multi30k/val.de.gz")


# train


@pytest.mark.slow
def test_train_says_what_it_does_and_leaves_a_model(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    status, said, err = run("train", "demo", *TINY_SETTINGS, "--steps", 2, "--out", out)
    assert (status, err) == (0, "")
    lines = said.splitlines()
    assert lines[0].startswith("demo: embedded en-fr, ")
    assert "sentence pairs" in lines[0]
    assert lines[1].startswith("293 types, ")
    assert "parameters, 2 steps on " in lines[1]
    assert [line.split(" · ")[0] for line in lines[2:5]] == ["step 1/2", "step 2/2", "step 2/2"]
    assert lines[5].startswith("done in ")
    assert lines[6] == f'try: echo "..." | python -m transformer translate {out}'
    assert {"recipe.json", "model.safetensors", "run.json", "log.jsonl"} <= {
        path.name for path in out.iterdir()
    }


@pytest.fixture
def copy(tiny_folder: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model's folder, to be spoilt."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "copy"))


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_is_not_overwritten(run: Run, copy: Path) -> None:
    before = contents(copy)
    refused(run("train", "demo", *TINY_SETTINGS, "--out", copy), "holds a run already", "--resume")
    assert contents(copy) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("d_model=18", ["begun with d_model=16", "d_model=18"]),
        ("seed=2", ["begun with seed=1", "seed=2"]),
        ("src_lang=de", ["begun with src_lang=en", "src_lang=de"]),
    ],
)
def test_a_run_goes_on_with_its_own_settings_only(
    run: Run, copy: Path, change: str, said: list[str]
) -> None:
    before = contents(copy)
    arguments = (*TINY_SETTINGS, "--set", change, "--steps", 2, "--out", copy, "--resume")
    refused(run("train", "demo", *arguments), *said)
    assert contents(copy) == before


def test_a_run_goes_on_with_its_own_recipe_only(run: Run, copy: Path) -> None:
    refused(
        run("train", "multi30k-de-en", "--out", copy, "--resume"),
        "begun with recipe=demo",
        "recipe=multi30k-de-en",
    )


@pytest.mark.slow
def test_more_steps_go_on(run: Run, copy: Path) -> None:
    arguments = (*TINY_SETTINGS, "--steps", 3, "--out", copy, "--resume")
    status, out, _ = run("train", "demo", *arguments)
    assert status == 0
    assert "step 3/3" in out
    assert "step 2/" not in out
    assert json.loads((copy / "recipe.json").read_text())["training"]["steps"] == 3
    assert json.loads((copy / "run.json").read_text())["steps"] == 3


@pytest.fixture
def no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text may be read, with which all work begins."""

    def load(*_: str) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr(corpora, "load", load)


@pytest.mark.usefixtures("no_text")
def test_a_bad_folder_is_refused_before_the_work(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    refused(run("train", "demo", "--out", tmp_path / "file" / "run"), "file", "not a folder")
    refused(run("train", "demo", "--out", tmp_path / "file"), "file", "not a folder")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.slow
def test_a_folder_that_only_seems_writable_is_refused_before_the_first_step(run: Run) -> None:
    refused(run("train", "demo", "--out", "/proc/run"), "/proc")


@pytest.mark.slow
def test_a_full_disk_loses_nothing(run: Run, copy: Path) -> None:
    before = contents(copy)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    arguments = (*TINY_SETTINGS, "--steps", 4, "--out", copy, "--resume")
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
    try:
        status, _, err = run("train", "demo", *arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert status == 2
    assert err.startswith("error: cannot save ")
    assert "make room" in err
    assert err.count("\n") == 1
    after = contents(copy)
    assert after.keys() == before.keys()
    for path in before:
        assert after[path] == before[path] or path.name == "log.jsonl"


# translate


def test_translations_come_in_order_and_empty_lines_stay_empty(run: Run, tiny_folder: Path) -> None:
    lines = ["The dog sleeps.", "", "A cat!", "   \t ", "The dog sleeps."]
    status, out, err = run("translate", tiny_folder, "--beam", 2, stdin="\n".join(lines) + "\n")
    assert (status, err) == (0, "")
    translated = out.split("\n")
    assert len(translated) == 6
    assert translated[1] == translated[3] == translated[5] == ""
    assert translated[0] == translated[4]


@pytest.mark.parametrize(
    ("stdin", "lines"), [("", 0), ("\n", 1), ("\n\n", 2), ("a", 1), ("a\r\nb", 2)]
)
def test_every_line_has_its_line(run: Run, tiny_folder: Path, stdin: str, lines: int) -> None:
    status, out, err = run("translate", tiny_folder, "--beam", 1, stdin=stdin)
    assert (status, err) == (0, "")
    assert out.count("\n") == lines


def test_any_character_is_taken(run: Run, tiny_folder: Path) -> None:
    stdin = "🐕 你好 ß\u2028\x00\u200b\U0010ffff <eos>\nİ́\n"
    status, out, err = run("translate", tiny_folder, "--beam", 1, stdin=stdin)
    assert (status, err) == (0, "")
    assert out.count("\n") == 2


def test_a_long_sentence_is_cut_short_with_a_warning(run: Run, tiny_folder: Path) -> None:
    stdin = "dog " * 1000 + "\ncat\n"
    status, out, err = run("translate", tiny_folder, "--beam", 1, stdin=stdin)
    assert status == 0
    assert out.count("\n") == 2
    assert err.startswith("warning: 'dog dog dog ")
    assert "this model takes 255" in err
    assert err.endswith("the rest was cut off\n")
    assert err.count("\n") == 1


def test_a_long_sentence_is_refused_by_choice(run: Run, tiny_folder: Path) -> None:
    stdin = "cat\n" * 600 + "dog " * 1000
    refused(run("translate", tiny_folder, "--refuse-long", stdin=stdin), "this model takes 255")
    status, out, _ = run("translate", tiny_folder, "--refuse-long", "--beam", 1, stdin="cat\ndog")
    assert (status, out.count("\n")) == (0, 2)


def test_input_that_is_not_utf_8(run: Run, tiny_folder: Path) -> None:
    stdin = "a café\nun café\n".encode("latin-1")
    refused(run("translate", tiny_folder, stdin=stdin), "line 1 of the input is not UTF-8", "0xe9")


def test_translate_with_earlier_weights(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    torch.manual_seed(3)
    earlier = tmp_path / "earlier.safetensors"
    drawn = weights(read_description(tiny_folder).build())
    save_tensors(earlier, {name: -tensor for name, tensor in drawn.items()})
    arguments = ("translate", tiny_folder, "--beam", 1)
    said = run(*arguments, "--weights", earlier, stdin="A dog.\n")[1]
    assert said.strip() == tidy(
        Translator.load(tiny_folder, weights=earlier).translate(["A dog."], beam_size=1)[0]
    )
    assert said != run(*arguments, stdin="A dog.\n")[1]
    refused(run(*arguments, "--weights", tmp_path / "none", stdin="A dog."), "none")


def test_lines_are_cut_at_line_feeds_alone() -> None:
    assert read_lines(b"") == []
    assert read_lines("\ufeffa\x0bb\u2028c\u0085d\r\n\r\ne".encode()) == [
        "a\x0bb\u2028c\u0085d",
        "",
        "e",
    ]
    with pytest.raises(UserError, match="line 2"):
        read_lines(b"a\n\xff\n")


def test_attention_as_numbers(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "new" / "attention.json"
    arguments = ("--beam", 1, "--attention", file)
    status, out, _ = run("translate", tiny_folder, *arguments, stdin="A dog.\n\nThe cat sleeps.\n")
    assert (status, out.count("\n")) == (0, 3)
    first, second = json.loads(file.read_text(encoding="utf-8"))
    assert [first["translation"], "", second["translation"]] == out.split("\n")[:3]
    queries, keys = first["tgt_tokens"], first["src_tokens"]
    assert keys[-1] == "<eos>"
    assert sizes(first["cross"]) == (1, 2, len(queries), len(keys))
    assert sizes(first["encoder"]) == (1, 2, len(keys), len(keys))
    assert sizes(first["decoder"]) == (1, 2, len(queries), len(queries))
    for row in first["cross"][0][1]:
        assert sum(row) == pytest.approx(1, abs=0.001 * len(row))


def sizes(values: Any) -> tuple[int, ...]:
    return (len(values), *sizes(values[0])) if isinstance(values, list) else ()


def test_attention_as_a_picture(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "attention.png"
    arguments = ("--beam", 1, "--attention", file)
    assert run("translate", tiny_folder, *arguments, stdin="\nA dog.\n")[0] == 0
    assert file.read_bytes().startswith(b"\x89PNG")


def test_attention_that_cannot_be_written(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "file").touch()
    for name in ("folder.json", "file/a.json", "a.svg", "a"):
        file = tmp_path / name
        refused(run("translate", tiny_folder, "--attention", file, stdin="A dog.\n"), str(tmp_path))


@pytest.mark.slow
def test_a_reader_that_has_enough_is_no_mistake(tiny_folder: Path) -> None:
    translate = [*COMMAND, "translate", str(tiny_folder), "--beam", "1"]
    process = subprocess.Popen(
        translate,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(b"A dog.\n" * 3, timeout=60)
    assert err == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "corpora", "list"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot go on: ")
    assert done.stderr.count("\n") == 1


# evaluate


@pytest.mark.slow
def test_evaluate_prints_json(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    record = tmp_path / "new" / "record.json"
    arguments = ("--split", "test_long", "--beam", 1, "--alpha", 1.5, "--record", record)
    status, out, err = run("evaluate", tiny_folder, *arguments)
    assert (status, err) == (0, "")
    figures = json.loads(out)
    assert {"score", "signature", "interval"} == set(figures["bleu"]) == set(figures["chrf"])
    for key in ("bleu_tokenised_lowercased", "perplexity", "sentences_per_second"):
        assert figures[key] >= 0
    assert (figures["corpus"], figures["split"]) == ("embedded", "test_long")
    assert (figures["beam_size"], figures["alpha"]) == (1, 1.5)
    assert json.loads(record.read_text())["figures"] == figures


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--split", "tset"], ["unknown split of embedded 'tset'", "'test'"]),
        (["--corpus", "tatoba"], ["unknown corpus 'tatoba'", "'tatoeba'"]),
        (["--corpus", "multi30k", "--split", "test"], ["unknown split of multi30k 'test'"]),
    ],
)
def test_evaluate_refuses(
    run: Run, tiny_folder: Path, arguments: list[str], said: list[str]
) -> None:
    refused(run("evaluate", tiny_folder, *arguments), *said)


@pytest.mark.usefixtures("no_text")
def test_evaluate_refuses_a_record_that_cannot_be_written(
    run: Run, tiny_folder: Path, tmp_path: Path
) -> None:
    refused(run("evaluate", tiny_folder, "--record", tmp_path), str(tmp_path), "folder")


def test_evaluate_refuses_a_corpus_without_the_models_languages(run: Run, copy: Path) -> None:
    recipe = json.loads((copy / "recipe.json").read_text())
    recipe["data"] |= {"src_lang": "de", "tgt_lang": "en"}
    replace_listed(copy, "recipe.json", json.dumps(recipe).encode())
    refused(
        run("evaluate", copy, "--corpus", "tatoeba"),
        "this model translates de-en, and tatoeba has en-fr, fr-en: choose another corpus",
    )
