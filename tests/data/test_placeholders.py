"""Placeholders and mnemonics of messages, as the libraries that fill them in write them."""

import string

import pytest

from transformer.data.placeholders import find_placeholders, without_keyboard_mnemonic_marks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%s: cannot open `%s'", "%s %s"),
        ("%2$s of %1$s, %-9.3f %*d %.*s %lu %hhd %zu %'d %#x", None),
        ("%(count)d files in %(place)-7s", "%(count)d %(place)-7s"),
        ("{name} has {0} of {} {total:,} {0.size!r:>9}", None),
        ("%{name} and %<size>d in ${HOME} or $PATH, {{user}}", None),
        ("Page %1 of %L2; %1% of Boost", "%1 %L2 %1%"),
        ("%d%% of it, 50% of it, 100%ige, 100 %", "%d"),
        ("%Y-%m-%dT%H:%M", "%Y %m %d %H %M"),
        ("%qE is not %<const%>; %pB: error; 0%o", "%qE %pB %o"),
        ("cost $5 or US$10; {a b}, { } & co", ""),
        ("", ""),
    ],
)
def test_placeholders(text: str, expected: str | None) -> None:
    if expected is None:  # all words that have a mark
        expected = " ".join(word.strip(",") for word in text.split() if set(word) & set("%{$"))
    assert find_placeholders(text) == expected.split()


def test_placeholders_are_what_the_formatters_fill_in() -> None:
    values = {"name": "N", "size": 7}
    percent = "%(name)s has %(size)05d at 90%% and %(size)x"
    braces = "{name} has {size:>5} of {size!r}"
    for template, filled in (
        (percent, percent % values),
        (braces, braces.format(**values)),
        ("$name has ${size}", string.Template("$name has ${size}").substitute(values)),
    ):
        placeholders = find_placeholders(template)
        assert len(placeholders) >= 2
        assert find_placeholders(filled) == []
        for placeholder in placeholders:
            assert placeholder in template
            template = template.replace(placeholder, "", 1)
        assert not set(template) & set("{}$")
        assert "%(" not in template


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("_Open a File", "Datei ö_ffnen", ("Open a File", "Datei öffnen")),
        ("&Save All Files", "すべて保存(&S)", ("Save All Files", "すべて保存")),
        ("_Save All Files...", "全部保存 （_S）...", ("Save All Files...", "全部保存...")),
        ("the file_name is wrong", "der file_name ist falsch", None),
        ("R&D of AT&T", "F&E von AT&T", None),
        ("a &lt;b&gt; _tag", "eine &lt;b&gt; _Marke", ("a &lt;b&gt; tag", "eine &lt;b&gt; Marke")),
        ("_One and _two", "_Eins und _zwei", None),
        ("_Open", "Öffnen", None),
        ("a _ b", "c _ d", None),
    ],
)
def test_mnemonics(source: str, translation: str, expected: tuple[str, str] | None) -> None:
    assert without_keyboard_mnemonic_marks(source, translation) == (
        expected or (source, translation)
    )
