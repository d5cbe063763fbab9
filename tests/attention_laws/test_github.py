"""With --github each break stands at its line in a pull request."""

import json
import re
from collections.abc import Callable

import pytest

from attention_laws import command_line
from attention_laws.command_line import main, make_parser
from attention_laws.github import annotations
from attention_laws.report import LawResult, Report, Verdict
from tests.helpers import ROOT

THEIRS = """
from experiments.laws.sound_model import EncoderDecoder, MultiHeadAttention

class Mixed(MultiHeadAttention):

    def forward(self, hidden, keys, mask):
        return super().forward(hidden, keys, mask) + hidden.mean(dim=1, keepdim=True)

def make():
    model = EncoderDecoder()
    model.decoder[0].attention = Mixed()
    return model
"""
COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def result(law: str, verdict: Verdict, seen: str, where: str = "") -> LawResult:
    return LawResult(law, "It holds.", verdict, seen, "a mask", "there", 0.0, where)


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Return the level, the properties and the message of each of GitHub's workflow commands."""
    found = []
    for line in text.splitlines():
        match = COMMAND.fullmatch(line)
        assert match, line
        pairs = (pair.split("=", 1) for pair in match[2].split(","))
        found.append((match[1], dict(pairs), match[3]))
    return found


def test_a_break_stands_at_its_line(
    write_theirs: Callable[[str], None], capfd: pytest.CaptureFixture[str]
) -> None:
    write_theirs(THEIRS)
    assert main(["theirs:make", "--only", "decoder_is_causal", "--github"]) == 1
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("::")]
    ((level, place, message),) = commands("\n".join(lines))
    assert level == "error"
    assert (place["file"], place["line"]) == ("theirs.py", "6")
    assert "decoder_is_causal" in place["title"]
    assert "tgt_in [" in message


def test_json_is_alone_on_its_stream(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report((result("one", Verdict.BROKEN, "it moves"),))
    monkeypatch.setattr(command_line, "diagnose_with_options", lambda options: report)
    main(["theirs:make", "--json", "--github"])
    captured = capsys.readouterr()
    assert json.loads(captured.out)["lines"][0]["law"] == "one"
    assert len(commands(captured.err)) == 1


def test_what_the_page_tells_to_type_is_understood() -> None:
    page = (ROOT / "docs" / "laws_in_ci.md").read_text(encoding="utf-8")
    typed = re.findall(r"(?:^|run: |entry: )attention-laws (.+)$", page, re.MULTILINE)
    assert len(typed) >= 3
    assert all(make_parser().parse_args(line.split()).target == "my_model:make" for line in typed)
    options = set(re.findall(r"`(--[\w-]+)", page))
    assert options <= set(re.findall(r"--[\w-]+", make_parser().format_help()))


def test_nothing_in_a_message_ends_a_command() -> None:
    broken = result("one", Verdict.BROKEN, "50% of it:\nmoves", where="a, b (Kind), my,dir/x.py:7")
    warned = result("two", Verdict.WARNED, "somewhat")
    kept = result("three", Verdict.KEPT, "well")
    text = annotations(Report((broken, warned, kept), place="model.py:3"))
    (first, second) = commands(text)
    assert first[:2] == ("error", {"file": "my%2Cdir/x.py", "line": "7", "title": "one"})
    assert "50%25 of it:%0Amoves" in first[2]
    # What has no line of its own stands where the model's forward begins.
    assert second[:2] == ("warning", {"file": "model.py", "line": "3", "title": "two"})


def test_breaks_of_one_cause_are_one_annotation() -> None:
    padding = ("source_padding_is_ignored", "batch_rows_are_independent")
    lines = [result(law, Verdict.BROKEN, f"{law} moves") for law in (*padding, "other")]
    (first, second) = commands(annotations(Report(tuple(lines), place="model.py:3")))
    assert all(law in first[2] for law in padding)
    assert "mask" in first[2]
    assert second[1]["title"] == "other"


def test_what_could_not_be_judged_is_an_error_too() -> None:
    ((level, place, message),) = commands(annotations(Report((), stopped="there is no module x")))
    assert (level, set(place)) == ("error", {"title"})
    assert "there is no module x" in message
    lost = LawResult("one", "It holds.", Verdict.NOT_TRIED, "it died", "", "", 0.0, lost=True)
    ((level, _, message),) = commands(annotations(Report((lost,))))
    assert level == "error"
    assert "one" in message
