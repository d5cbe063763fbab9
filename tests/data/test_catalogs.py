"""Catalogs as text: where they are found, and which messages become pairs."""

from pathlib import Path

import pytest

from tests.helpers.catalogs import HEADER, write_catalog
from transformer.data import catalogs
from transformer.data.catalogs import find_catalogs, read_catalogs, usual_catalog_folders
from transformer.data.source_text import MISSING_TRANSLATION_REASON
from transformer.support.errors import UserError


def test_messages_of_one_line_and_three_words_become_pairs(tmp_path: Path) -> None:
    messages = {
        "_Open the file": "Datei ö_ffnen",
        "two words": "zwei Wörter",
        "context\x04two words": "zwei Worte",
        "menu\x04Close the file": "Datei schließen",
        "a line of text\nand another": "eine Zeile\nund noch eine",
        "ends with a line feed\n": "endet mit einem Zeilenvorschub\n",
        "%d file is open\0%d files are open": "%d Datei ist offen\0%d Dateien sind offen",
        "not translated so far": "",
    }
    path = write_catalog(tmp_path, "de", "domain", messages)
    text = read_catalogs("de", [tmp_path])
    assert sorted(text.pairs) == [
        ("%d file is open", "%d Datei ist offen"),
        ("%d files are open", "%d Dateien sind offen"),
        ("Close the file", "Datei schließen"),
        ("Open the file", "Datei öffnen"),
        ("ends with a line feed", "endet mit einem Zeilenvorschub"),
    ]
    assert text.files == [str(path)]
    assert text.left_out == {
        catalogs.FEW_WORDS_REASON: 2,
        catalogs.MULTI_LINE_REASON: 1,
        MISSING_TRANSLATION_REASON: 1,
    }
    assert text.licence == catalogs.CATALOGS_LICENCE


def test_each_form_of_a_plural_has_the_message_that_it_fits(tmp_path: Path) -> None:
    source = "%d file is open\0%d files are open"
    one_form = HEADER.replace("nplurals=2; plural=(n != 1)", "nplurals=1; plural=0")
    write_catalog(tmp_path, "ja", "domain", {source: "%d 個のファイル"}, one_form)
    assert read_catalogs("ja", [tmp_path]).pairs == [("%d files are open", "%d 個のファイル")]
    one_is_last = HEADER.replace(
        "nplurals=2; plural=(n != 1)", "nplurals=3; plural=n==1?2:n==2?1:0"
    )
    write_catalog(tmp_path, "sl", "domain", {source: "many\0two\0one"}, one_is_last)
    assert read_catalogs("sl", [tmp_path]).pairs == [
        ("%d files are open", "many"),
        ("%d files are open", "two"),
        ("%d file is open", "one"),
    ]


def test_catalogs_are_found_where_programs_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, shared = tmp_path / "own" / "locale", tmp_path / "shared"
    monkeypatch.setenv("TEXTDOMAINDIR", str(shared))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    own.mkdir(parents=True)
    shared.symlink_to(own)
    folders = usual_catalog_folders()
    assert folders[0].resolve() == own
    assert len({folder.resolve() for folder in folders}) == len(folders)  # none twice
    deep = write_catalog(own / "package", "zh_CN", "b", {"a": "b"})
    first = write_catalog(own, "zh_CN", "a", {"a": "b"})
    assert sorted(find_catalogs("zh_CN", [own])) == sorted([first, deep])
    with pytest.raises(UserError, match=r"no catalogs of 'zh' in .*did you mean zh_CN\?"):
        find_catalogs("zh", [own])
    with pytest.raises(UserError, match="language-pack-pt,"):
        find_catalogs("pt_BR", [])


def test_a_damaged_catalog_is_left_out_with_a_warning(tmp_path: Path) -> None:
    damaged = write_catalog(tmp_path, "uk", "damaged", {})
    damaged.write_bytes(damaged.read_bytes()[:33])
    with pytest.raises(UserError, match=r"1 of 1 catalogs cannot be read: .*damaged\.mo"):
        read_catalogs("uk", [tmp_path])
    sound = write_catalog(tmp_path, "uk", "sound", {"Open the file": "Відкрити файл"})
    with pytest.warns(UserWarning, match=r"1 of 2 catalogs cannot be read: .*damaged\.mo"):
        text = read_catalogs("uk", [tmp_path])
    assert text.files == [str(sound)]


def test_packages_are_those_of_dpkg(tmp_path: Path) -> None:
    lists = sorted(Path("/var/lib/dpkg/info").glob("*.list"))
    owned = [path for path in lists if "/usr/bin/dpkg\n" in path.read_text()]
    names = [path.stem.partition(":")[0] for path in owned]
    assert catalogs.debian_packages_of_files([Path("/usr/bin/dpkg"), tmp_path]) == names
