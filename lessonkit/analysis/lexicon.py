"""What the word lists of the embedded corpus hold: one class a table."""

from dataclasses import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """A noun in three languages; `classes` says what it is, for verbs and adjectives to choose by.

    Where it has no plural (`mass` nouns, parents) the plural fields are empty. `de_oblique` is
    the singular outside the nominative: "Jungen" beside "Junge".
    """

    en: str
    en_plural: str
    fr: str
    fr_plural: str
    fr_gender: str
    de: str
    de_oblique: str
    de_plural: str
    de_gender: str
    classes: frozenset[str]

    @property
    def sex(self) -> str | None:
        """Give "male" or "female" for people of whom it is known, else None."""
        return next((sex for sex in ("male", "female") if sex in self.classes), None)


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """An adjective; `fr_vowel` stands before a vowel ("vieil"), `de_stem` takes the endings."""

    en: str
    fr: str
    fr_feminine: str
    fr_vowel: str
    fr_before: bool
    de: str
    de_stem: str
    attributes: frozenset[str]
    predicates: frozenset[str]


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """A verb with its forms and with what it can be said of (`data/corpus/README.md`).

    Attributes:
        en: Base, third person singular, -ing form, past.
        fr: Infinitive, je, tu, il, nous, ils, past participle; `fr_aux` is "avoir", "être" or "se".
        de: Infinitive, du, er, past participle; `de_particle` is the part that separates.
    """

    name: str
    en: tuple[str, ...]
    fr: tuple[str, ...]
    de: tuple[str, ...]
    subjects: frozenset[str]
    objects: frozenset[str] = frozenset()
    recipient: frozenset[str] = frozenset()
    habit: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    modals: frozenset[str] = frozenset({"can", "must", "should", "want", "would_like"})
    present: str = "progressive"
    past: bool = True
    definite: bool = False
    indefinite: bool = False
    singular: bool = False
    distributive: bool = False
    timeless: bool = False
    moment: bool = False
    durative: bool = False
    result: bool = False
    direction: bool = False
    needs_place: bool = False
    complement: frozenset[str] = frozenset()
    en_prep: str = ""
    fr_aux: str = "avoir"
    de_aux: str = "haben"
    de_prep: str = ""
    de_case: str = "accusative"
    de_particle: str = ""
    de_ich: str = ""
    de_reflexive: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Modal:
    """A modal verb: English base, third person and past, five French and four German forms."""

    name: str
    en: tuple[str, ...]
    fr: tuple[str, ...]
    de: tuple[str, ...]
    fr_past: tuple[str, ...] = ()
    de_past: tuple[str, ...] = ()
    to: bool = False
    lexical: bool = False
    negated: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """A place, the prepositions for being there (`_at`) and going there (`_to`), and its uses."""

    noun: Noun
    at: dict[str, str]
    to: dict[str, str]
    de_to_case: str
    tags: frozenset[str]
    purposes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False, slots=True)
class Time:
    """An expression of time: for each language its words with the meanings that link them."""

    words: dict[str, tuple[tuple[str, frozenset[int]], ...]]
    when: frozenset[str]
    at_end: bool


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Every table of the lexicon, in the order of its file."""

    nouns: tuple[Noun, ...]
    names: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]
    verbs: dict[str, Verb]
    modals: dict[str, Modal]
    places: tuple[Place, ...]
    times: tuple[Time, ...]
