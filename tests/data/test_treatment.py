"""A text as a user types it becomes the text that training read, in each language."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.treatment import BY_LANGUAGE, TREATMENTS, treatment_of


@pytest.mark.parametrize(
    ("name", "typed", "treated"),
    [
        ("french", "L’homme n’a pas d’argent.", "L'homme n'a pas d'argent."),
        ("french", "Lʼhomme n´a pas d′argent.", "L'homme n'a pas d'argent."),
        ("french", "Cours\u202f!", "Cours !"),
        ("french", "Cours\u00a0!", "Cours !"),
        ("french", "Cours \u2009!", "Cours !"),
        ("french", "Cours!", "Cours !"),
        ("french", "Cours !", "Cours !"),
        ("french", "Quoi?!", "Quoi ?!"),
        ("french", "L’école commence à 8:40.", "L'école commence à 8:40."),
        ("french", "Vois: «\u00a0Non; oui?\u00a0»", "Vois : « Non ; oui ? »"),
        ("french", "Il dit “oui”.", 'Il dit "oui".'),
        ("english", "“Don’t!” he said.\tWhy?", '"Don\'t!" he said. Why?'),
        ("german", "Das gibt’s bei „Levi’s“!", "Das gibt's bei „Levi's“!"),
        ("plain", " L’été\u00a0?\t«e\u0301»!", "L’été ? «e\u0301»!"),
    ],
)
def test_by_hand(name: str, typed: str, treated: str) -> None:
    treat = TREATMENTS[name]
    assert treat(typed) == treated
    assert treat(treated) == treated


def test_letters_typed_on_a_mac_are_the_composed_ones() -> None:
    composed = "Où l'élève naïf où Ärger ist"
    typed = unicodedata.normalize("NFD", composed)
    assert typed != composed
    for name in BY_LANGUAGE.values():
        assert TREATMENTS[name](typed) == composed


TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("a’“?!:;8 e\u0301\u00a0\u202f")
)


@given(text=TEXTS)
def test_twice_is_once(text: str) -> None:
    for treat in TREATMENTS.values():
        assert treat(treat(text)) == treat(text)


def test_each_language_has_its_own_and_others_the_plain_one() -> None:
    assert {lang: treatment_of(lang) for lang in ("de", "en", "fr")} == BY_LANGUAGE
    assert treatment_of("tree") == treatment_of("it") == "plain"
