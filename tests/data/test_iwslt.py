"""IWSLT: files in the official layout, written here, loose and in archives."""

import dataclasses
import io
import logging
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from transformer.data import corpora, iwslt
from transformer.data.registry import CORPORA, Corpus
from transformer.support.errors import UserError

HEAD = """<doc docid="1" genre="lectures">
<url>http://www.example.org/talks/1</url>
<keywords>talks, a test</keywords>
<speaker>A. Speaker</speaker>
<talkid>1</talkid>
<title>On tests</title>
<description>A talk: about tests.</description>
"""
TRAIN_DE = f"""{HEAD}<reviewer></reviewer>
<translator href="http://www.example.org/t">T</translator>
 Vielen Dank, Chris.
Drei < vier, sagte er.
<lacht> Nein.
</doc>
{HEAD} Noch\u2028ein\u00a0Vortrag.\x20
</doc>
"""
TRAIN_EN = f"""{HEAD} Thank you so much, Chris.
Three < four, he said.
<laughs> No.
</doc>
{HEAD}Another talk.
</doc>
"""


def xml(*sentences: str, kind: str = "srcset") -> str:
    segments = "\n".join(f'<seg id="{i}"> {s} </seg>' for i, s in enumerate(sentences, start=1))
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<mteval>
<{kind} setid="iwslt2016-tst2013" srclang="german">
<doc docid="1" genre="lectures">
<url>http://www.example.org/talks/1</url>
<title>On tests</title>
<description>A talk.</description>
{segments}
</doc>
</{kind}>
</mteval>
"""


FILES = {
    "train.tags.de-en.de": TRAIN_DE,
    "train.tags.de-en.en": TRAIN_EN,
    "IWSLT16.TED.tst2013.de-en.de.xml": xml("Ich &amp; du.", "Zwei."),
    "IWSLT16.TED.tst2013.de-en.en.xml": xml("Me &amp; you.", "Two.", kind="refset"),
    "IWSLT16.TED.tst2014.de-en.de.xml": xml("Eins.", "Zwei.", "Drei."),
    "IWSLT16.TED.tst2014.de-en.en.xml": xml("One.", "Two.", "Three.", kind="refset"),
    "IWSLT16.TED.dev2010.de-en.de.xml": xml("Nicht gefragt."),
}


def tar(contents: dict[str, bytes], mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def write(folder: Path, contents: dict[str, bytes]) -> None:
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def loose(files: dict[str, bytes]) -> dict[str, bytes]:
    return files


def extracted(files: dict[str, bytes]) -> dict[str, bytes]:
    return {f"2016-01/texts/de/en/de-en/{name}": content for name, content in files.items()}


def archived(files: dict[str, bytes]) -> dict[str, bytes]:
    noise = {f"de-en/._{name}": b"\x00resource fork" for name in files}
    return {"de-en.tgz": tar(noise | {f"de-en/{name}": c for name, c in files.items()})}


def plain_tar(files: dict[str, bytes]) -> dict[str, bytes]:
    return {"mine.tar": tar(files, "w:")}


def nested(files: dict[str, bytes]) -> dict[str, bytes]:
    inner = tar({f"de-en/{name}": content for name, content in files.items()})
    other = tar({"ar-en/train.tags.ar-en.ar": b"not for us\n"})
    return {
        "2016-01.tgz": tar(
            {"2016-01/texts/ar/en/ar-en.tgz": other, "2016-01/texts/de/en/de-en.tgz": inner}
        )
    }


LAYOUTS = [loose, extracted, archived, plain_tar, nested]


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("TRANSFORMER_DATA", str(folder))
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return dataclasses.replace(CORPORA["iwslt"], cache=tmp_path / "cache")


def encoded(**changes: str | bytes) -> dict[str, bytes]:
    files = FILES | changes
    return {n: c.encode() if isinstance(c, str) else c for n, c in files.items()}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(
    user: Path, corpus: Corpus, layout: Callable[[dict[str, bytes]], dict[str, bytes]]
) -> None:
    write(user / "iwslt", layout(encoded()))
    train = corpora.load(corpus, "train", "de", "en")
    assert train.src == [
        "Vielen Dank, Chris.",
        "Drei < vier, sagte er.",
        "<lacht> Nein.",
        "Noch ein Vortrag.",
    ]
    assert train.tgt == [
        "Thank you so much, Chris.",
        "Three < four, he said.",
        "<laughs> No.",
        "Another talk.",
    ]
    validation = corpora.load(corpus, "validation", "de", "en")
    assert (validation.src, validation.tgt) == (["Ich & du.", "Zwei."], ["Me & you.", "Two."])
    back = corpora.load(corpus, "test", "en", "de")  # from the de-en files
    assert (back.src_lang, back.tgt_lang) == ("en", "de")
    assert (back.src, back.tgt) == (["One.", "Two.", "Three."], ["Eins.", "Zwei.", "Drei."])
    assert corpora.fetch(corpus)
    assert corpora.verify(corpus) == []


def test_the_cache_is_searched_too(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRANSFORMER_DATA", raising=False)
    write(tmp_path / "cache" / "iwslt", archived(encoded()))
    assert len(corpora.load(corpus, "test", "de", "en")) == 3
    assert corpora.fetch(corpus) == [tmp_path / "cache" / "iwslt" / "de-en.tgz"]


def test_the_directions_own_files_come_first(user: Path, corpus: Corpus) -> None:
    write(user / "iwslt", encoded())
    write(
        user / "iwslt" / "en-de",
        {"train.tags.en-de.en": b"From English.\n", "train.tags.en-de.de": b"Aus Englisch.\n"},
    )
    assert corpora.load(corpus, "train", "en", "de").src == ["From English."]
    assert corpora.load(corpus, "train", "de", "en").src[0] == "Vielen Dank, Chris."


@pytest.mark.parametrize("have_folder", [False, True])
def test_nothing_there_says_what_to_put_where(
    user: Path, corpus: Corpus, have_folder: bool
) -> None:
    if have_folder:
        write(user / "iwslt", {"README": b"nothing here"})
    with pytest.raises(UserError, match="cannot be downloaded: put") as caught:
        corpora.load(corpus, "train", "fr", "en")
    message = str(caught.value)
    assert "train.tags.fr-en.fr and train.tags.fr-en.en, or the archive fr-en.tgz" in message
    assert str(user / "iwslt") in message
    with pytest.raises(UserError, match=r"put your archive of IWSLT 2016"):
        corpora.fetch(corpus)


def test_one_side_alone_is_not_enough(user: Path, corpus: Corpus) -> None:
    write(user / "iwslt", {"train.tags.de-en.de": TRAIN_DE.encode()})
    with pytest.raises(UserError, match="no IWSLT text here"):
        corpora.load(corpus, "train", "de", "en")


@pytest.mark.parametrize(
    ("split", "name", "content", "message"),
    [
        ("train", "train.tags.de-en.en", "One.\n", "iwslt train de-en: 4 lines of de, 1 of en"),
        ("train", "train.tags.de-en.en", b"caf\xe9\n", r"train\.tags\.de-en\.en is not UTF-8"),
        (
            "validation",
            "IWSLT16.TED.tst2013.de-en.de.xml",
            "<mteval><seg>Eins.</mteval>",
            r"tst2013\.de-en\.de\.xml is not well-formed XML",
        ),
        (
            "validation",
            "IWSLT16.TED.tst2013.de-en.de.xml",
            xml("Eins."),
            "iwslt validation de-en: 1 lines of de, 2 of en",
        ),
    ],
)
def test_bad_files(
    user: Path, corpus: Corpus, split: str, name: str, content: str | bytes, message: str
) -> None:
    write(user / "iwslt", encoded(**{name: content}))
    with pytest.raises(UserError, match=message) as caught:
        corpora.load(corpus, split, "de", "en")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cut", [0, 40, -100])
def test_an_unreadable_archive(user: Path, corpus: Corpus, cut: int) -> None:
    whole = archived(encoded())["de-en.tgz"]
    write(user / "iwslt", {"de-en.tgz": whole[:cut]})
    with pytest.raises(UserError, match=r"de-en\.tgz cannot be read as an archive"):
        corpora.load(corpus, "test", "de", "en")


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("outer", [None, "w:"])
def test_no_flipped_bit_gives_other_sentences(
    user: Path, corpus: Corpus, mode: str, outer: str | None
) -> None:
    whole = tar({f"de-en/{name}": content for name, content in encoded().items()}, mode)
    name = "de-en.tgz" if outer is None else "2016-01.tar"  # a plain tar has no sum of its own
    path = user / "iwslt" / name

    def load(content: bytes) -> tuple[object, object]:
        inside = content if outer is None else tar({"2016-01/de-en.tgz": content}, outer)
        write(user / "iwslt", {name: inside})
        text = corpora.load(corpus, "test", "de", "en")
        return text.src, text.tgt

    right, said = load(whole), []
    for bit in range(0, 8 * len(whole), 8 * len(whole) // 97):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            same = load(bytes(damaged)) == right  # the date in its head, say
        except UserError as error:
            said.append(str(error))
        else:
            assert same
    assert len(said) > 80
    assert all(f"{path} cannot be read as an archive" in line for line in said)


def test_an_archive_in_an_archive_in_an_archive_is_not_looked_into(
    user: Path, corpus: Corpus
) -> None:
    deep = archived(encoded())["de-en.tgz"]
    for _ in range(2):
        deep = tar({"de-en.tgz": deep})
    write(user / "iwslt", {"de-en.tgz": deep})
    with pytest.raises(UserError, match="no IWSLT text here"):
        corpora.load(corpus, "test", "de", "en")


def test_an_archive_that_would_fill_the_memory(
    user: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iwslt, "MOST_BYTES", 100)
    write(user / "iwslt", archived(encoded()))
    with pytest.raises(UserError, match=r"cannot be read as an archive \(.* more than 100\)"):
        corpora.load(corpus, "test", "de", "en")


NAME = "train.tags.de-en.de"


@pytest.mark.parametrize("name", [NAME, "de-en.tgz"])
@pytest.mark.parametrize("kind", ["pipe", "nowhere", "circle"])
def test_what_is_no_file_is_named(user: Path, corpus: Corpus, name: str, kind: str) -> None:
    write(user / "iwslt", {"train.tags.de-en.en": TRAIN_EN.encode()})
    path = user / "iwslt" / name
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(user / "none" if kind == "nowhere" else path)
    with pytest.raises(UserError, match=r"is no file \(a folder, a pipe, or a link") as caught:
        corpora.load(corpus, "train", "de", "en")
    assert str(path) in str(caught.value)


UNREADABLE = Path("/proc/self/mem")  # a file, and yet to read its beginning is an error


@pytest.mark.skipif(not UNREADABLE.is_file(), reason="this system has no such file")
@pytest.mark.parametrize("name", [NAME, "de-en.tgz"])
def test_a_file_that_the_disk_does_not_give_is_not_called_damaged(
    user: Path, corpus: Corpus, name: str
) -> None:
    write(user / "iwslt", {"train.tags.de-en.en": TRAIN_EN.encode()})
    (user / "iwslt" / name).symlink_to(UNREADABLE)
    with pytest.raises(UserError, match=f"cannot read .*{name}: Input/output error"):
        corpora.load(corpus, "train", "de", "en")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_byte_order_mark_is_no_text(
    user: Path, corpus: Corpus, layout: Callable[[dict[str, bytes]], dict[str, bytes]]
) -> None:
    marked = {name: b"\xef\xbb\xbf" + content for name, content in encoded().items()}
    write(user / "iwslt", layout(marked))
    assert corpora.load(corpus, "train", "de", "en").src[0] == "Vielen Dank, Chris."
    assert corpora.load(corpus, "test", "de", "en").src[0] == "Eins."


def test_another_known_encoding_is_read(user: Path, corpus: Corpus) -> None:
    name = "IWSLT16.TED.tst2014.de-en.de.xml"
    text = xml("Ärger.", "Zwei.", "Drei.").replace("UTF-8", "ISO-8859-1").encode("latin-1")
    write(user / "iwslt", encoded(**{name: text}))
    assert corpora.load(corpus, "test", "de", "en").src[0] == "Ärger."


@pytest.mark.parametrize("encoding", ["nonsense", "rot13", "utf-7", "idna", "big5"])
def test_an_odd_encoding_is_refused(user: Path, corpus: Corpus, encoding: str) -> None:
    name = "IWSLT16.TED.tst2014.de-en.de.xml"
    write(user / "iwslt", encoded(**{name: xml("Eins.").replace("UTF-8", encoding)}))
    with pytest.raises(UserError, match=r"de\.xml is not well-formed XML") as caught:
        corpora.load(corpus, "test", "de", "en")
    assert "\n" not in str(caught.value)


def test_an_empty_segment_is_dropped_with_its_pair(
    user: Path, corpus: Corpus, caplog: pytest.LogCaptureFixture
) -> None:
    name = "IWSLT16.TED.tst2014.de-en.de.xml"
    write(user / "iwslt", encoded(**{name: xml("Eins.", " ", "Drei.")}))
    with caplog.at_level(logging.WARNING):
        text = corpora.load(corpus, "test", "de", "en")
    assert text.tgt == ["One.", "Three."]
    assert caplog.messages == ["iwslt test de-en: dropped 1 of 3 pairs, which have an empty side"]


def test_tag_lines() -> None:
    content = b"<doc>\n<title>T</title>\n <url>u</url>\n<titled> stays\n\nlast\n"
    assert iwslt.train_lines(content, "name") == ["<titled> stays", "", "last"]
