"""Which pairs of a user's text are dropped, and why."""

import pytest

from transformer.data import cleaning
from transformer.data.cleaning import clean_pairs, nonempty_pairs, without_shared_sides


def test_each_reason_by_hand() -> None:
    pairs = [
        ("a  dog ", "un\tchien"),
        ("", "vide"),
        ("\u3000", "vide"),
        ("a dog", "un chien"),  # the first, once its blanks are plain
        ("Vim", "Vim"),
        ("ok", "d'accord " * 7),  # 62 bytes; a side of 2 counts as 10
        ("ok", "d'accord" * 7),  # 56
        ("x" * 1001, "y" * 1001),
        ("早上好" * 100, "good morning " * 50),  # 900 bytes and 649
        ("早" * 334, "y" * 999),  # 1,002 bytes
        ("早上好吗啊", "g" * 80),  # 15 bytes, 5 letters
    ]
    kept, dropped = clean_pairs(pairs, ("xq", "xr"))
    assert kept == [
        ("a dog", "un chien"),
        ("ok", "d'accord" * 7),
        ("早上好" * 100, ("good morning " * 50).strip()),
        ("早上好吗啊", "g" * 80),
    ]
    assert dropped == {
        cleaning.EMPTY_SIDE: 2,
        cleaning.DUPLICATE: 1,
        cleaning.EQUAL_SIDES: 1,
        cleaning.UNEQUAL_LENGTHS: 1,
        cleaning.TOO_LONG: 2,
    }


def test_a_side_in_another_script_is_dropped_by_its_language() -> None:
    pairs = [
        ("Open the file", "Відкрити файл"),
        ("Закрити файл", "Close the file"),  # turned
        ("Run git", "Run git now"),  # not translated
        ("Use GCC", "Використати GCC"),
        ("10 %", "10 ‰"),  # no letters
    ]
    kept, dropped = clean_pairs(pairs, ("en", "uk"))
    assert kept == [pairs[0], pairs[3], pairs[4]]
    assert dropped == {cleaning.OTHER_SCRIPT_REASON: 2}
    assert clean_pairs(pairs, ("xq", "xr")) == (pairs, {})


def test_a_test_file_loses_empty_sides_alone() -> None:
    pairs = [("Vim", "Vim"), ("Vim", " Vim"), (" ", "x"), ("ok", "z" * 2000)]
    kept, dropped = nonempty_pairs(pairs)
    assert kept == [("Vim", "Vim"), ("Vim", "Vim"), ("ok", "z" * 2000)]
    assert dropped == {cleaning.EMPTY_SIDE: 1}


@pytest.mark.parametrize("side", [0, 1])
def test_shared_sides_are_found_up_to_case_and_punctuation(side: int) -> None:
    pair = ("A dog.", "Un chien.") if side == 0 else ("Other", "a dog!")
    held_out = [("a DOG!", "x")] if side == 0 else [("x", "A dog")]
    assert without_shared_sides([pair, ("b", "c")], held_out) == [("b", "c")]
    # The same words on the other side are another language's.
    assert without_shared_sides([pair[::-1]], held_out) == [pair[::-1]]
