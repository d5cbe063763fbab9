"""The English sentences' trees of phrases, written as a line: what a model outputs in §6.3.

"(S (NP DT NN )NP (VP AUX VB )VP . )S": brackets with the kind of phrase, and for each word its
part of speech, in the tags of the Penn Treebank where it has one (Vinyals et al. 2015, arXiv
1412.7449, write trees so).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from data.corpus.generator.realization import Word
from data.corpus.generator.tree import TO_BE, Clause, Key, Phrase, Tree

BLOCK = 32  # keys of one phrase or clause, see `tree`
_PLACE = range(Key.PLACE, Key.PLACE + 3)
_TIME = range(Key.TIME, Key.PLACE)


class Span(NamedTuple):
    """A phrase of words start to end - 1."""

    start: int
    end: int
    label: str


class _Places:
    """Where the words of each part of a sentence stand."""

    def __init__(self, words: list[Word]) -> None:
        self.of: dict[int, dict[int, list[int]]] = {}  # block, offset -> indices
        for index, each in enumerate(words):
            for key in each.keys:
                self.of.setdefault(key // BLOCK, {}).setdefault(key % BLOCK, []).append(index)

    def words(self, key: int, *offsets: int) -> list[int]:
        """The indices of a part's words, all or those with one of these offsets."""
        found = self.of.get(key // BLOCK, {})
        return [index for offset in offsets or found for index in found.get(offset, [])]

    def phrase(self, phrase: Phrase) -> list[int]:
        """The indices of a noun phrase with all that belongs to it."""
        preposition = self.words(phrase.key, Key.PREP)
        found = [i for i in self.words(phrase.key) if i not in preposition]
        for part in phrase.joined:
            found += self.phrase(part)
        return found + (self.clause(phrase.relative) if phrase.relative else [])

    def clause(self, clause: Clause) -> list[int]:
        """The indices of a clause with all that belongs to it."""
        found = self.words(clause.key)
        if not clause.fronted and not clause.ask:  # the comma between two clauses is in neither
            comma = self.words(clause.key, Key.FRONT)
            found = [i for i in found if i not in comma]
        for phrase in _said(clause):
            found += self.phrase(phrase) + self.words(phrase.key, Key.PREP)
        return found + (self.clause(clause.second) if clause.second else [])


def _said(clause: Clause) -> list[Phrase]:
    """The clause's own noun phrases; the second of two joined clauses leaves its subject out."""
    return [phrase for role, phrase in clause.roles() if not (clause.follows and role == "subject")]


def parse(tree: Tree, words: list[Word]) -> str:
    """Write the tree of phrases of a sentence as a line, of what `english.english` says."""
    tags = _tags(tree, words)
    waiting = sorted(_spans(tree, words), key=lambda span: (span.start, -span.end))
    inside: list[Span] = []
    line = []
    for index, tag in enumerate(tags):
        while waiting and waiting[0].start == index:
            inside.append(waiting.pop(0))
            line.append(f"({inside[-1].label}")
        line.append(tag)
        while inside and inside[-1].end == index + 1:
            line.append(f"){inside.pop().label}")
    return " ".join(line)


def _spans(tree: Tree, words: list[Word]) -> list[Span]:
    """Return the phrases of an English sentence; of two that share their words, the outer first."""
    places = _Places(words)
    complement = [
        index
        for conjunction, clause in tree.links
        if conjunction.endswith(("that", "whether"))
        for index in places.clause(clause)
    ]
    found = [Span(0, len(words), "S")]
    found += _clause_spans(tree.main, places, complement)
    if tree.leading is not None:
        found += _subordinate(tree.leading, places)
    for conjunction, clause in tree.links:
        found += _subordinate(clause, places, coordinated=conjunction in ("and", "but"))
    return found


def _span(indices: list[int], label: str) -> list[Span]:
    return [Span(min(indices), max(indices) + 1, label)] if indices else []


def _subordinate(clause: Clause, places: _Places, coordinated: bool = False) -> Iterator[Span]:
    """A clause, and around it one with its conjunction or relative pronoun, if it depends."""
    opening = places.words(clause.key, Key.RELATIVE)
    inside = [i for i in places.clause(clause) if i not in opening]
    if not coordinated:
        yield from _span(opening + inside, "SBAR")
    yield from _span(inside, "S")
    yield from _clause_spans(clause, places)


def _clause_spans(
    clause: Clause, places: _Places, complement: Sequence[int] = ()
) -> Iterator[Span]:
    """The phrases inside a clause; a complement, "that ...", belongs to its verb."""
    key = clause.key
    for phrase in _said(clause):
        counted = clause.ask == "how many" and phrase is clause.object
        how_many = places.words(key, Key.FRONT) if counted else []
        yield from _span(places.phrase(phrase) + how_many, "NP")
        yield from _phrase_spans(phrase, places)
        if preposition := places.words(phrase.key, Key.PREP):
            yield from _span(preposition + places.phrase(phrase), "PP")
    for label, offsets in (("PP", _PLACE), ("NP", _PLACE[1:]), ("ADVP", _TIME)):
        yield from _span(places.words(key, *offsets), label)
    said = clause.said_object
    if clause.verb.en_prep and said is not None and clause.ask in ("", "who", "yes_no"):
        governed = places.words(key, Key.VERB_PREP)
        yield from _span(governed + places.phrase(said), "PP")
    if predicate := _predicate(clause, places):
        yield from _span([*predicate, *complement], "VP")
    if clause.second is not None:
        yield from _clause_spans(clause.second, places)


def _predicate(clause: Clause, places: _Places) -> list[int]:
    """The verb and what follows it; of an inverted question, what stands behind the subject."""
    verbal = (Key.TENSE, Key.VERB, Key.NOT, Key.MODAL, Key.COPULA, Key.SELF)
    verbs = places.words(clause.key, *verbal)
    if clause.inverted and (subject := places.phrase(clause.subject)):
        verbs = [index for index in verbs if index > max(subject)]
    return [i for i in places.clause(clause) if i >= min(verbs)] if verbs else []


def _phrase_spans(phrase: Phrase, places: _Places) -> Iterator[Span]:
    """The phrases inside a noun phrase: the two that "and" joins, a relative clause."""
    for part in phrase.joined:
        yield from _span(places.phrase(part), "NP")
        yield from _phrase_spans(part, places)
    if phrase.relative is not None:
        yield from _subordinate(phrase.relative, places)


def _tags(tree: Tree, words: list[Word]) -> list[str]:
    """Return the part of speech of each word."""
    phrases = {phrase.key // BLOCK: phrase for phrase in tree.phrases()}
    clauses = {clause.key // BLOCK: clause for clause in tree.clauses()}
    relative = {phrase.relative.key // BLOCK for phrase in tree.phrases() if phrase.relative}
    tags = []
    for index, each in enumerate(words):
        block, offsets = min(each.keys) // BLOCK, {key % BLOCK for key in each.keys}
        if each.text in ".,?":
            tags.append("." if each.text == "?" else each.text)
        elif block in clauses:
            repeated = index > 0 and words[index - 1].keys == each.keys
            tag = _clause_tag(clauses[block], each.text, offsets, repeated)
            tags.append("WP" if Key.RELATIVE in offsets and block in relative else tag)
        else:
            tags.append(_phrase_tag(phrases.get(block), offsets))
    return tags


def _phrase_tag(phrase: Phrase | None, offsets: set[int]) -> str:
    if phrase is None:  # "and" between two phrases
        return "CC"
    if Key.NOUN in offsets:
        return "PRP" if phrase.pronoun else "NN"
    by_offset = {Key.DET: "DT", Key.COUNT: "CD", Key.PREP: "IN"}
    return by_offset.get(min(offsets), "JJ")


def _clause_tag(clause: Clause, text: str, offsets: set[int], repeated: bool) -> str:
    if Key.VERB in offsets:
        return "JJ" if clause.verb is TO_BE else "RP" if repeated else "VB"
    if Key.MODAL in offsets:
        return "TO" if text == "to" else "MD"
    if Key.RELATIVE in offsets:
        return "CC" if text in ("and", "but") else "IN"
    if Key.FRONT in offsets:
        return "JJ" if text == "many" else "WP"
    by_offset = {Key.NOT: "RB", Key.VERB_PREP: "IN", **dict.fromkeys(_TIME, "RB")}
    by_offset |= dict(zip(_PLACE, ("IN", "DT", "NN"), strict=True))
    by_offset |= {Key.TENSE: "AUX", Key.COPULA: "AUX"}
    return by_offset[min(offsets - {Key.ASK})]
