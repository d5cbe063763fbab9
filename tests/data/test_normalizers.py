"""Normalizers: a text as a user types it becomes the text that training read."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.normalizers import NORMALIZERS, normalizer_name_of_language


def test_by_hand() -> None:
    for name, typed, normalized in (
        ("french", "L’homme n’a pas d’argent.", "L'homme n'a pas d'argent."),
        ("french", "Lʼhomme n´a pas d′argent.", "L'homme n'a pas d'argent."),
        ("french", "Cours\u202f!", "Cours !"),
        ("french", "Cours \u2009!", "Cours !"),
        ("french", "Cours!", "Cours !"),
        ("french", "Quoi?!", "Quoi ?!"),
        ("french", "L’école commence à 8:40.", "L'école commence à 8:40."),
        ("french", "Vois: «\u00a0Non; oui?\u00a0»", "Vois : « Non ; oui ? »"),
        ("french", "Il dit “oui”.", 'Il dit "oui".'),
        ("english", "“Don’t!” he said.\tWhy?", '"Don\'t!" he said. Why?'),
        ("german", "Das gibt’s bei „Levi’s“!", "Das gibt's bei „Levi's“!"),
        ("plain", " L’été\u00a0?\t«e\u0301»!", "L’été ? «e\u0301»!"),
    ):
        assert NORMALIZERS[name](typed) == normalized
    composed = "Où l'élève naïf où Ärger ist"
    for lang in ("de", "en", "fr"):  # typed on a Mac
        normalize = NORMALIZERS[normalizer_name_of_language(lang)]
        assert normalize(unicodedata.normalize("NFD", composed)) == composed


def test_a_language_of_which_nobody_thought_is_composed_and_a_tree_is_left_as_it_is() -> None:
    for composed in ("Tiếng Việt", "한국어", "ガギグ", "Україна й Київ"):
        decomposed = unicodedata.normalize("NFD", composed)
        assert NORMALIZERS[normalizer_name_of_language("xq_Latn")](decomposed) == composed
    assert NORMALIZERS[normalizer_name_of_language("tree")]("(S e\u0301)") == "(S e\u0301)"


@pytest.mark.parametrize("name", NORMALIZERS)
def test_what_nobody_sees_is_dropped_and_joiners_stay_where_they_shape_a_letter(name: str) -> None:
    normalize = NORMALIZERS[name]
    for typed, normalized in (
        ("Mä\u00addchen", "Mädchen"),
        ("\ufeffa\u200bb\u2060c\ufeff", "abc"),
        ("\u200e(a)\u200f \u202bb\u202c \u2067c\u2069\u061c", "(a) b c"),
        ("well\u2011known", "well-known"),
        ("\u200b \ufeff\u200d", ""),
        # Between Latin letters, after a blank and in Japanese, joiners shape nothing.
        ("Auf\u200clage a\u200d \u200db 日\u200d本", "Auflage a b 日本"),
        # Of a run the first one works.
        ("می\u200c\u200cروم", "می\u200cروم"),
    ):
        assert normalize(typed) == normalized, ascii(typed)
    for kept in (
        "می\u200cروم",
        "क\u094d\u200dष",
        "ക\u0d4d\u200d",
        "ශ\u0dca\u200dරී",
        "ក\u17d2\u200cក",
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "\U0001f469\U0001f3fd\u200d\U0001f680",
    ):
        assert normalize(kept) == kept, ascii(kept)


INVISIBLE = "\u00ad\u200b\u200c\u200d\u200f\u2011\u2060\ufeffیक"
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from(f"a’“?!:;8 e\u0301\u00a0\u202f{INVISIBLE}")
)


@given(text=TEXTS)
def test_normalized_twice_is_normalized_once(text: str) -> None:
    for normalize in NORMALIZERS.values():
        assert normalize(normalize(text)) == normalize(text)
