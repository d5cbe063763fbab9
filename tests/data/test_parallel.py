"""Lines to parallel text: what is tidied and dropped, IWSLT's files, Tatoeba's groups."""

import gzip
import logging
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data import parallel
from transformer.data.parallel import (
    group_pairs,
    iwslt_lines,
    key,
    side_by_side,
    split_lines,
    split_of,
    tatoeba_pairs,
)
from transformer.support.errors import UserError


def test_lines_end_at_line_feeds_only() -> None:
    text = "a\u2028b\u0085c\rd\x1ce\nf\n"
    assert split_lines(text) == ["a\u2028b\u0085c\rd\x1ce", "f"]
    assert len(text.splitlines()) == 6  # what it would be otherwise


def test_compressed_lines(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress("eins\nStraße\n".encode()))
    assert parallel.gzip_lines(tmp_path / "a.gz") == ["eins", "Straße"]


def test_sides_of_different_length() -> None:
    with pytest.raises(UserError, match="3 lines of de, 2 of en; line i of one must translate"):
        side_by_side("de", "en", ["eins", "zwei", "drei"], ["one", "two"])


def test_pairs_with_an_empty_side_are_dropped_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        text = side_by_side(
            "de",
            "en",
            ["eins\t ja", "", "drei", "vier", " \t "],
            ["one", "two", "\u00a0", "four", ""],
        )
    assert (text.src, text.tgt) == (["eins ja", "vier"], ["one", "four"])
    assert caplog.messages == ["de-en: dropped 3 of 5 pairs, which have an empty side"]


@pytest.mark.parametrize("lines", [[], [""], ["", " "]])
def test_an_empty_corpus(lines: list[str]) -> None:
    with pytest.raises(UserError, match="no sentence pair in de-en"):
        side_by_side("de", "en", lines, lines)


# --- IWSLT --------------------------------------------------------------------------------

TRAIN = """<doc docid="1" genre="lectures">
<url>http://www.example.org/talks/1</url>
<description>A talk: about tests.</description>
<translator href="http://www.example.org/t">T</translator>
 Drei < vier, sagte er.
<titled> Nein.

</doc>
"""
XML = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<mteval><doc><title>T</title>\n'
    '<seg id="1"> Ich &amp; du. </seg><seg id="2"></seg></doc></mteval>\n'
)


@pytest.mark.parametrize("mark", ["", "\ufeff"])  # a byte order mark is no text
def test_iwslt_sentences(tmp_path: Path, mark: str) -> None:
    for name, text, lines in (
        ("train.tags.de-en.de", TRAIN, [" Drei < vier, sagte er.", "<titled> Nein.", ""]),
        ("IWSLT16.TED.tst2013.de-en.de.xml", XML, [" Ich & du. ", ""]),
    ):
        (tmp_path / name).write_text(mark + text, encoding="utf-8")
        assert iwslt_lines(tmp_path / name) == lines


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.tags.de-en.de", b"caf\xe9\n"),
        ("a.xml", b"<mteval><seg>Eins.</mteval>"),
        ("a.xml", XML.replace("UTF-8", "nonsense").encode()),
        ("a.xml", None),
    ],
)
def test_iwslt_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=f"cannot read .*{name}: .*; get it anew") as caught:
        iwslt_lines(tmp_path / name)
    assert "\n" not in str(caught.value)


# --- Tatoeba ------------------------------------------------------------------------------


def test_tatoebas_pairs_are_treated_and_stand_once(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        lines = "Run!\tCours\u202f!\nRun!\tCours !\nDon’t!\tL’été!\n"
        archive.writestr(parallel.TATOEBA_MEMBER, lines)
    assert tatoeba_pairs(tmp_path / "data.zip") == [("Run!", "Cours !"), ("Don't!", "L'été !")]


def test_groups_by_hand() -> None:
    a, b, c = ("Go.", "Va !"), ("go!", "Pars."), ("Leave.", "pars !")
    d, e = ("Hi.", "Salut."), ("Pars.", "Hi.")  # e shares words with c and d, in the other language
    assert group_pairs([a, d, b, e, c]) == [[a, b, c], [d], [e]]


WORDS = st.sampled_from(["p", "q", "r", "s", "t"])


@given(st.lists(st.tuples(WORDS, WORDS), max_size=23))
def test_groups_are_the_connected_ones(pairs: list[tuple[str, str]]) -> None:
    groups = group_pairs(pairs)
    assert Counter(pair for group in groups for pair in group) == Counter(pairs)
    for side in (0, 1):  # apart
        sides = [{pair[side] for pair in group} for group in groups]
        assert sum(map(len, sides)) == len(set().union(*sides))
    for group in groups:  # together: from the first pair every other can be reached
        reached, waiting = [group[0]], list(group[1:])
        while near := [p for p in waiting if any(p[0] == r[0] or p[1] == r[1] for r in reached)]:
            reached += near
            waiting = [p for p in waiting if p not in near]
        assert not waiting


def test_the_split_of_a_group_depends_on_its_words_alone() -> None:
    group = [("Run!", "Cours !"), ("Go.", "Cours.")]
    assert split_of(group) == split_of(group[::-1]) == split_of([("GO", "x"), ("run", "y")])
    counts = Counter(split_of([(f"sentence {i}", "phrase")]) for i in range(10_007))
    assert 80 < counts["test"] < 160
    assert 80 < counts["validation"] < 160
    assert counts.total() == 10_007


def test_a_key_is_the_words() -> None:
    assert key("Ne pars pas, Élie !") == "ne pars pas élie"
