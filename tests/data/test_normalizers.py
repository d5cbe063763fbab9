"""Normalizers: a text as a user types it becomes the text that training read."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from transformer.data.normalizers import NORMALIZERS, normalizer_name


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
        normalize = NORMALIZERS[normalizer_name(lang)]
        assert normalize(unicodedata.normalize("NFD", composed)) == composed
    assert normalizer_name("a language of which nobody thought") == "plain"


TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("a’“?!:;8 e\u0301\u00a0\u202f")
)


@given(text=TEXTS)
def test_normalized_twice_is_normalized_once(text: str) -> None:
    for normalize in NORMALIZERS.values():
        assert normalize(normalize(text)) == normalize(text)
