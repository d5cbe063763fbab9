"""Draw the sentences of the embedded corpus from its word lists, and write them to a file.

Not in the paper. `python -m data.corpus.generator` writes `data/corpus/sentences.tsv.gz` again: run
it after a change of the word lists or the grammar. Drawing takes about 5 s, reading 0.3 s.
"""

import gzip
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from zlib import crc32

from data.corpus.generator.english import english
from data.corpus.generator.french import french
from data.corpus.generator.german import german
from data.corpus.generator.lexicon import lexicon
from data.corpus.generator.parse import parse
from data.corpus.generator.periods import PeriodSampler
from data.corpus.generator.realization import Word
from data.corpus.generator.tree import NO_NOUN, Clause, Phrase, Tree
from transformer.data.corpora import CORPORA
from transformer.data.embedded_corpus import TrilingualSentence
from transformer.support.files import write_atomically

SEED = 2017
SIZES = dict(zip(CORPORA["embedded"].splits, (20_000, 500, 1_000, 500, 300), strict=True))
ORDINARY_LENGTHS, LONG_LENGTHS = range(4, 17), range(17, 26)  # tokens of a sentence
HELD_OUT = 12  # one combination of two words in so many is kept out of training


def phenomena(tree: Tree) -> frozenset[str]:
    """Name what a sentence shows of grammar, by the names of `data/corpus/phenomena.tsv`."""
    conjunctions = [conjunction for conjunction, _ in tree.links]
    checks = {
        "VERB_SECOND": tree.leading is not None,
        "VERB_FINAL": bool(tree.leading or {*conjunctions} - {"and", "but"}),
        "COORDINATION": any(each.startswith(("and", "but")) for each in conjunctions),
    }
    shown = [checks, *map(_of_clause, tree.clauses()), *map(_of_phrase, tree.phrases())]
    return frozenset(name for each in shown for name, there in each.items() if there)


def _of_clause(clause: Clause) -> dict[str, bool]:
    verb, roles = clause.verb, dict(clause.roles())
    said = roles.get("object")
    accusative = bool(said and said.det and said.noun.de_gender == "m" and not said.plural)
    agreeing = verb.fr_aux != "avoir" and clause.past
    relative = clause.gap == "object" or clause.subject.relative is clause
    early = clause.gap == "object" or clause.ask == "how many"
    return {
        "AGREEMENT": clause.predicate is not None or agreeing or early,
        "NEGATION": clause.negated,
        "VERB_SECOND": bool(clause.fronted),
        "SEPARABLE": bool(verb.de_particle),
        "MODAL": clause.modal is not None,
        "PAST": clause.past,
        "CASE": accusative or verb.de_case == "dative" or clause.recipient is not None,
        "REFLEXIVE": verb.fr_aux == "se" or verb.de_reflexive,
        "RELATIVE": relative,
        "VERB_FINAL": relative,
        "QUESTION": bool(clause.ask),
        "COORDINATION": bool(clause.second or any(each.joined for each in roles.values())),
    }


def _of_phrase(phrase: Phrase) -> dict[str, bool]:
    return {
        "ADJECTIVE": bool(phrase.adjectives),
        "AGREEMENT": bool(phrase.adjectives),
        "NUMBER": bool(phrase.count),
        "PRONOUN": bool(phrase.pronoun),
        "POSSESSIVE": phrase.det in ("my", "your", "our", "own"),
    }


def combinations(tree: Tree) -> Iterator[tuple[str, str]]:
    """List the pairs of words that go together: adjective and noun, verb and object."""
    pairs = [(each.en, phrase) for phrase in tree.phrases() for each in phrase.adjectives]
    for clause in tree.clauses():
        if clause.predicate is not None:
            pairs += [(clause.predicate.en, phrase) for phrase in clause.subject.parts]
        if clause.object is not None and clause.ask != "what":
            pairs += [(clause.verb.en[0], phrase) for phrase in clause.object.parts]
    return ((first, phrase.noun.en) for first, phrase in pairs if phrase.noun is not NO_NOUN)


def _text(words: list[Word]) -> str:
    text = " ".join(each.text for each in words)
    return text[0].upper() + text[1:]


def _links(src: list[Word], tgt: list[Word]) -> str:
    """Link the words that share a meaning: "0-0 1-2"."""
    pairs = product(enumerate(src), enumerate(tgt))
    return " ".join(f"{i}-{j}" for (i, one), (j, other) in pairs if one.keys & other.keys)


def sentence_of(tree: Tree) -> TrilingualSentence:
    """Render a sentence in its three languages, with the links between them."""
    en, fr, de = english(tree), french(tree), german(tree)
    return TrilingualSentence(
        en=_text(en),
        fr=_text(fr),
        de=_text(de),
        en_fr=_links(en, fr),
        en_de=_links(en, de),
        fr_de=_links(fr, de),
        phenomena=" ".join(sorted(phenomena(tree))),
        parse=parse(tree, en),
    )


def _held_out(tree: Tree) -> bool:
    """Return whether a sentence combines two words that training must not see together."""
    return any(crc32(f"{a} {b}".encode()) % HELD_OUT == 0 for a, b in combinations(tree))


def _candidates(
    sampler: PeriodSampler, taken: Counter[str]
) -> Iterator[tuple[str, TrilingualSentence]]:
    """Draw sentences that fit a split which still takes some, the tests first."""
    while taken["test_long"] < SIZES["test_long"]:
        tree = sampler.long()
        if tree is not None and not _held_out(tree):
            yield "test_long", sentence_of(tree)
    while any(taken[split] < size for split, size in SIZES.items()):
        tree = sampler.ordinary()
        if tree is not None:
            splits = ("test_combinations",) if _held_out(tree) else ("test", "validation", "train")
            still = [split for split in splits if taken[split] < SIZES[split]]
            if still:
                yield still[0], sentence_of(tree)


def build() -> Iterator[tuple[str, TrilingualSentence]]:
    """Draw every sentence with its split; no text of any language comes twice."""
    taken: Counter[str] = Counter()
    seen: set[str] = set()
    for split, sentence in _candidates(PeriodSampler(lexicon(), Random(SEED)), taken):
        texts = {sentence.en, sentence.fr, sentence.de}
        lengths = LONG_LENGTHS if split == "test_long" else ORDINARY_LENGTHS
        if all(len(text.split()) in lengths for text in texts) and seen.isdisjoint(texts):
            seen |= texts
            taken[split] += 1
            yield split, sentence


def line(split: str, sentence: TrilingualSentence) -> str:
    """Return the line of a sentence in the corpus file: its split, then its fields."""
    return "\t".join((split, *sentence)) + "\n"


def write(file: Path) -> None:
    """Draw the corpus, and write its file, gzip: the same sentences give the same bytes."""
    content = "".join(line(split, sentence) for split, sentence in build()).encode()
    write_atomically(file, gzip.compress(content, mtime=0))
