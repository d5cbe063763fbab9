"""The commands as people type them: what they print and write."""

import io
import json
import shlex
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE

import pytest

from attention_course import input_lines
from tests.cli.conftest import Run
from tests.helpers import TINY
from transformer.data import corpora
from transformer.data.normalizers import normalize_whitespace
from transformer.data.tokenizers import BPETokenizer
from transformer.models.folder import read_description, read_longest_source
from transformer.models.translator import ScoredTranslation, Translator
from transformer.models.weights import model_weights, save_tensors
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.training import recipe as recipe_run

Patch = pytest.MonkeyPatch
TINY_SETTINGS = [word for key, value in TINY.items() for word in ("--set", f"{key}={value}")]


def test_help_names_what_there_is_with_an_example(run: Run) -> None:
    for command, words in (  # those that no other test types
        ("", "corpora train translate evaluate export diagnose"),
        *(("corpora", "list fetch"), ("corpora fetch", "NAME TRANSFORMER_DATA")),
        *(("train", "demo multi30k-de-en"), ("translate", ""), ("evaluate", "")),
        *(("export", "--out ctranslate2 ONNX"), ("diagnose", "MODULE:FACTORY --minute --json")),
    ):
        status, out, err = run(*command.split(), "--help")
        assert (status, err) == (0, "")
        for word in words.split():
            assert word in out
        assert f"attention-course {command}".strip() in out.partition("\nExample")[2]


def test_corpora_are_listed_with_their_terms_and_need_not_all_be_fetched(run: Run) -> None:
    status, out, _ = run("corpora", "list")
    assert status == 0
    for word in ("embedded", "multi30k", "tatoeba", "de-en", "test_2016_flickr", "CC BY"):
        assert word in out
    assert run("corpora", "fetch", "embedded") == (0, "embedded has no files to download\n", "")


@pytest.mark.slow
def test_train_says_what_it_does_and_leaves_a_model(
    run: Run, few_sentences: None, tmp_path: Path
) -> None:
    out = tmp_path / "a" / "b"
    status, said, err = run("train", "demo", *TINY_SETTINGS, "--steps", 2, "--out", out)
    assert (status, err) == (0, "")
    lines = said.splitlines()
    begin = (
        "demo: embedded en-fr, ",
        "293 types, ",
        "on ",
        *["step "] * 3,
        "done in ",
        "try: echo",
    )
    assert all(line.startswith(each) for line, each in zip(lines, begin, strict=True))
    assert [line.split(" · ")[0] for line in lines[3:6]] == ["step 1/2", "step 2/2", "step 2/2"]
    assert lines[7].endswith(f"attention-course translate {out}")
    left = {path.name for path in out.iterdir()}
    assert {"recipe.json", "model.safetensors", "run.json", "log.jsonl"} <= left
    status, said, _ = run("train", "demo", *TINY_SETTINGS, "--steps", 3, "--out", out, "--resume")
    assert status == 0
    assert "step 3/3" in said
    assert "step 2/" not in said
    assert json.loads((out / "run.json").read_text())["steps"] == 3


def test_a_second_ctrl_c_names_the_command_that_goes_on(
    run: Run, few_sentences: None, tmp_path: Path, monkeypatch: Patch
) -> None:
    def press(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(recipe_run, "train", press)
    command = ["train", "demo", *TINY_SETTINGS, "--steps", "2", "--out", str(tmp_path / "run")]
    again = shlex.join(["attention-course", *command, "--resume"])
    status, _, err = run(*command)
    assert status == 130
    assert err == f"stopped at once; go on from what was last saved with: {again}\n"
    monkeypatch.setattr(corpora, "load", press)  # before there is a run to go on with
    status, _, err = run(*command[:-1], tmp_path / "other")
    assert (status, err) == (130, "stopped\n")


def test_every_line_has_its_line_whatever_it_holds(
    run: Run, tiny_folder: Path, monkeypatch: Patch, tmp_path: Path
) -> None:
    odd = "🐕 你好 ß\u2028\x00\u200b\U0010ffff <eos>\nİ́\n"
    for stdin, lines in (("", 0), ("\n", 1), ("\n\n", 2), ("a", 1), ("a\r\nb", 2), (odd, 2)):
        status, out, err = run("translate", tiny_folder, "--beam", 1, stdin=stdin)
        assert (status, err) == (0, "")
        assert out.count("\n") == lines

    def chatty(_: Translator, sources: list[object], *__: object) -> list[list[ScoredTranslation]]:
        return [[ScoredTranslation("this\nand\r\nmore\u2028still", 0.0, 0.0, True)]] * len(sources)

    monkeypatch.setattr(Translator, "translate_encoded", chatty)
    one = "this and more still\n"
    assert run("translate", tiny_folder, stdin="a\u2028b\nc\r\n")[1] == one + one
    file = tmp_path / "sentences.txt"
    file.write_text("\ufeffa\u2028b\nc", encoding="utf-8")
    assert run("translate", tiny_folder, file, stdin="a")[1] == one + one
    status, _, err = run("translate", tiny_folder, tmp_path / "none.txt", stdin="a")
    assert status == 2
    assert err.startswith(f"error: {tmp_path / 'none.txt'} cannot be read (No such file")


def test_a_long_sentence_is_cut_short_with_one_warning_and_attention_is_written(
    run: Run, tiny_folder: Path, tmp_path: Path
) -> None:
    before = warnings.showwarning, list(warnings.filters)
    file = tmp_path / "new" / "a.json"
    options = ("--beam", 1, "--attention", file)  # which encodes it again
    stdin = "dog " * 1000 + "\n\ncat\n"
    status, out, err = run("translate", tiny_folder, *options, stdin=stdin)
    first, second = json.loads(file.read_text(encoding="utf-8"))
    assert (status, out) == (0, f"{first['translation']}\n\n{second['translation']}\n")
    assert err.count("\n") == 1
    assert err.startswith("warning: 'dog dog dog ")
    assert "this model takes 255" in err
    assert err.endswith("the rest was cut off\n")
    assert (warnings.showwarning, list(warnings.filters)) == before


def test_a_line_far_longer_than_any_of_training_is_marked(run: Run, tiny_folder: Path) -> None:
    longest = read_longest_source(tiny_folder)
    assert longest == read_json(tiny_folder / "run.json")["longest_source"]
    stdin = f"the\n{'dog ' * longest * 2}\n"
    status, out, err = run("translate", tiny_folder, "--beam", 1, stdin=stdin)
    assert (status, out.count("\n"), err.count("\n")) == (0, 2, 1)
    assert err.startswith("warning: line 2 has up to ")
    assert f"none of over {longest}" in err
    assert run("translate", tiny_folder, "--beam", 1, stdin="the " * (longest // 2) + "\n")[2] == ""
    out = run("translate", tiny_folder, "--beam", 1, "--json", stdin=f"{stdin}{'cat ' * 1000}\n")[1]
    said = [json.loads(line) for line in out.splitlines()]
    assert [line["far_longer_than_training"] for line in said] == [False, True, True]
    assert [line["cut_short"] for line in said] == [False, False, True]


def test_each_line_is_encoded_once(run: Run, tiny_folder: Path, monkeypatch: Patch) -> None:
    encoded: list[str] = []
    plain = BPETokenizer.encode_all

    def noted(tokenizer: BPETokenizer, texts: Sequence[str]) -> list[list[int]]:
        encoded.extend(texts)
        return plain(tokenizer, texts)

    monkeypatch.setattr(BPETokenizer, "encode_all", noted)
    for options in ((), ("--json",)):
        assert run("translate", tiny_folder, "--beam", 1, *options, stdin="dog\n\ncat\n")[0] == 0
        assert sorted(encoded) == ["cat", "dog"]
        encoded.clear()


def test_translate_with_earlier_weights(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    earlier, drawn = (
        tmp_path / "a.safetensors",
        model_weights(read_description(tiny_folder).build()),
    )
    save_tensors(earlier, {name: -tensor for name, tensor in drawn.items()})
    said = run("translate", tiny_folder, "--weights", earlier, stdin="A dog.\n")[1]
    loaded = Translator.load(tiny_folder, weights=earlier)
    assert said.rstrip("\n") == normalize_whitespace(loaded.translate(["A dog."])[0])


def test_n_best_as_fields_between_tabs_and_as_json(run: Run, monkeypatch: Patch) -> None:
    """The sentences of two blocks are numbered on; an empty line has no candidate."""
    monkeypatch.setattr(input_lines, "MAX_LINES_PER_BLOCK", 2)
    stdin = "A dog.\n\nThe old woman is reading a book.\n"
    options = ("translate", "demo-en-fr", "--beam", 3)
    plain = run(*options, stdin=stdin)[1].splitlines()
    status, out, err = run(*options, "--n-best", 2, stdin=stdin)
    assert (status, err) == (0, "")
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[:2] for row in rows] == [["1", "1"], ["1", "2"], ["3", "1"], ["3", "2"]]
    assert [rows[0][4], rows[2][4]] == [plain[0], plain[2]]
    status, out, err = run(*options, "--n-best", 2, "--json", stdin=stdin)
    assert (status, err) == (0, "")
    said = [json.loads(line) for line in out.splitlines()]
    assert [line["sentence"] for line in said] == [1, 2, 3]
    assert said[1]["candidates"] == []
    for row, candidate in zip(rows, said[0]["candidates"] + said[2]["candidates"], strict=True):
        assert [float(row[2]), float(row[3])] == [candidate["score"], candidate["log_prob"]]
        assert (row[4], True) == (candidate["translation"], candidate["finished"])
    alone = run(*options, "--json", stdin="A dog.")[1]
    assert json.loads(alone)["candidates"] == said[0]["candidates"][:1]


def test_lines_are_cut_at_line_feeds_alone(monkeypatch: Patch) -> None:
    def blocks(content: bytes) -> list[list[str]]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return list(input_lines.read_input_blocks(None))

    assert blocks(b"") == []
    monkeypatch.setattr(input_lines, "MAX_BYTES_PER_READ", 5)
    monkeypatch.setattr(input_lines, "MAX_LINES_PER_BLOCK", 2)
    odd = "\ufeffa\x0bb\u2028c\u0085d\r\n\r\ne\n\n\n".encode()
    said = [line for block in blocks(odd) for line in block]
    assert said == ["a\x0bb\u2028c\u0085d", "", "e", "", ""]
    assert max(map(len, blocks(odd))) <= 2
    with pytest.raises(UserError, match="line 3 of the input is not UTF-8"):
        blocks(b"a\n\n\xff\n")
    monkeypatch.setattr(input_lines, "MAX_LINE_BYTES", 7)
    with pytest.raises(UserError, match="line 2 of the input has over 7 bytes: split it"):
        blocks(b"a\nb" + b"b" * 20)


@pytest.mark.slow
def test_a_line_is_answered_before_the_next_one_comes(tiny_folder: Path) -> None:
    command = [sys.executable, "-m", "transformer", "translate", str(tiny_folder), "--beam", "1"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (b"A dog.\n", b"\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().endswith(b"\n")
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.slow
def test_evaluate_prints_json(
    run: Run, few_sentences: None, tiny_folder: Path, tmp_path: Path
) -> None:
    record = tmp_path / "new" / "record.json"
    arguments = ("--split", "test_long", "--beam", 1, "--alpha", 1.5, "--record", record)
    status, out, err = run("evaluate", tiny_folder, *arguments)
    assert (status, err) == (0, "")
    figures = json.loads(out)
    assert {"score", "signature", "interval"} == set(figures["bleu"]) == set(figures["chrf++"])
    for key in ("bleu_tokenised_lowercased", "perplexity", "sentences_per_second"):
        assert figures[key] >= 0
    assert (figures["corpus"], figures["split"]) == ("embedded", "test_long")
    assert (figures["beam_size"], figures["alpha"]) == (1, 1.5)
    written = json.loads(record.read_text())
    assert list(written) == ["recipe", "training", "evaluation", "log", "figures"]
    assert written["figures"] == figures
