"""Which word tells a French article its gender, and which place carries it: counted.

Not in the paper. English *the* says nothing of gender; *le* or *la* is decided by the noun. Words
are hidden; or, as *The saleswoman is reading* and *The salesman is reading* differ in one word, and
in French in *La* and *Le*, a vector of the one run is put in the other: the article that comes out
says whether it held the gender.
"""

import csv
from collections.abc import Collection, Sequence
from functools import cache
from itertools import takewhile
from typing import NamedTuple

from lessonkit.analysis.activations import (
    Activations,
    next_token_probabilities,
    record_activations,
    require_transformer,
)
from lessonkit.analysis.heads import STACKS, Head, all_heads
from lessonkit.analysis.interventions import patch_heads, patch_memory
from transformer.data.parallel import ParallelText
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.folders import corpus_folder

ARTICLES = ("Le", "La")
SEXES = frozenset({"male", "female"})
VOWELS = "aeiouhéèêœ"  # before these, h perhaps, it is l'
PRONOUNS = {"he", "she", "him", "his", "her"}


class Noun(NamedTuple):
    """A noun of the embedded corpus; `classes` says what it can be said of, and its sex."""

    en: str
    fr: str
    gender: str
    classes: frozenset[str]


def corpus_table(name: str) -> list[dict[str, str]]:
    """Read a table of `data/corpus/`, a row for each line; lines that open with # are remarks."""
    lines = (corpus_folder() / name).read_text(encoding="utf-8").splitlines()
    table = (line for line in lines if line and not line.startswith("#"))
    return list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def nouns() -> dict[str, Noun]:
    """Read the nouns of the embedded corpus, by their English."""
    return {
        row["en"]: Noun(row["en"], row["fr"], row["fr_gender"], frozenset(row["classes"].split()))
        for row in corpus_table("nouns.tsv")
    }


class ArticleCase(NamedTuple):
    """A sentence that begins with *The*, perhaps an adjective, and a noun."""

    sentence: str  # in English
    article: str  # the first word of its translation, one of `ARTICLES`
    word: int  # which word is the noun, from 0
    noun: list[int]  # places of the noun's tokens, from 0
    last: list[int]  # places of the last word's tokens
    length: int  # tokens of the sentence, its end mark included


def article_cases(translator: Translator, text: ParallelText) -> list[ArticleCase]:
    """Find the sentences whose first French word is *Le* or *La* because of a noun beside *The*.

    The text is of the embedded corpus, English to French; the translator's tokens are counted.
    """
    if (text.src_lang, text.tgt_lang) != ("en", "fr"):
        raise UserError(f"{text.src_lang}-{text.tgt_lang}: give a text from en to fr")
    found = []
    for sentence, translation in zip(text.src, text.tgt, strict=True):
        words, article = sentence.split(), translation.split()[0]
        at = next((i for i in (1, 2) if i < len(words) and _bare(words[i]) in nouns()), None)
        if words[0] != "The" or article not in ARTICLES or at is None:
            continue
        pieces = translator.src_tokenizer.pieces(translator.src_tokenizer.encode(sentence))
        starts = [i for i, piece in enumerate(pieces) if piece.startswith("▁")]
        ends = [*starts[1:], len(pieces)]
        noun, last = (list(range(starts[word], ends[word])) for word in (at, -1))
        found.append(ArticleCase(sentence, article, at, noun, last, len(pieces) + 1))
    return found


def _bare(word: str) -> str:
    return word.rstrip(".,?!")


def count_correct_articles(
    translator: Translator, text: ParallelText
) -> list[tuple[str, int, int]]:
    """Count the right first words of translations, from English to French, with words hidden.

    Returns:
        For each thing hidden: what, how many articles are right (the most probable token is
        the right one), and of how many.
    """
    cases = article_cases(translator, text)

    def right(case: ArticleCase, before: Collection[int] = (), after: Collection[int] = ()) -> bool:
        return _first_article(translator, case, before, after) == case.article

    counted = {
        "nothing hidden": [right(case) for case in cases],
        "the noun hidden from the decoder": [right(case, after=case.noun) for case in cases],
        "all but The hidden from the decoder": [
            right(case, after=range(1, case.length)) for case in cases
        ],
        "the noun hidden from the encoder too": [right(case, before=case.noun) for case in cases],
        "control: the last word hidden instead": [right(case, before=case.last) for case in cases],
    }
    return [(hidden, sum(answers), len(answers)) for hidden, answers in counted.items()]


def _first_article(
    translator: Translator, case: ArticleCase, before: Collection[int], after: Collection[int]
) -> str | None:
    """Give the article whose first token is the most probable beginning, if one's is."""
    first = {translator.tgt_tokenizer.encode(article)[0]: article for article in ARTICLES}
    chance = next_token_probabilities(translator, case.sentence, before=before, after=after)
    return first.get(int(chance.argmax()))


class GenderPair(NamedTuple):
    """A sentence, and two in which its first noun is another, all with as many tokens."""

    subject: ArticleCase  # the sentence, and where its noun stands
    other: str  # with a noun of the other French gender: *Le* for *La*, *La* for *Le*
    same: str  # the control: with another noun of the same gender


def gender_pairs(translator: Translator, text: ParallelText) -> list[GenderPair]:
    """Make minimal pairs of the sentences that begin with *The* and a noun.

    The new noun is the one most like the old in what it can be said of (the lexicon's classes;
    people stay people), then in its French spelling: *salesman* for *saleswoman*. Sentences
    with *he, she, him, his* or *her* tell the gender twice and are left out.
    """
    pairs = []
    for subject in article_cases(translator, text):
        words, at = subject.sentence.split(), subject.word
        if PRONOUNS & {_bare(word).lower() for word in words}:
            continue
        noun = nouns()[_bare(words[at])]
        other, same = (
            " ".join([*words[:at], words[at].replace(noun.en, new.en), *words[at + 1 :]])
            for new in (_like(noun, same_gender=False), _like(noun, same_gender=True))
        )
        encoded = translator.src_tokenizer.encode
        if len(encoded(other)) == len(encoded(same)) == subject.length - 1:
            pairs.append(GenderPair(subject, other, same))
    return pairs


def _like(noun: Noun, same_gender: bool) -> Noun:
    """Give the noun most like another, of its French gender or the other one."""

    def alike(each: Noun) -> tuple[int, int]:
        letters = zip(each.fr, noun.fr, strict=False)
        begun = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], letters))
        return len((each.classes & noun.classes) - SEXES), begun

    candidates = [
        each
        for each in nouns().values()
        if each is not noun
        and (each.gender == noun.gender) == same_gender
        and each.classes.isdisjoint(SEXES) == noun.classes.isdisjoint(SEXES)
        and each.fr[0] not in VOWELS
    ]
    return max(candidates, key=alike)


class PatchedArticles(NamedTuple):
    """What came of putting vectors of other sentences into a sentence's run."""

    seen: str  # what the decoder could see of the source
    put: str  # which vectors were exchanged
    other: int  # articles that became the other one, with vectors of a noun of that gender
    same: int  # the control: those that did with vectors of a noun of the same gender
    of: int  # sentences


def count_patched_articles(
    translator: Translator, pairs: Sequence[GenderPair], carriers: Sequence[Head]
) -> list[PatchedArticles]:
    """Count how often an exchanged vector exchanges the article.

    Args:
        translator: A Transformer from English to French.
        pairs: From `gender_pairs`.
        carriers: Heads of the encoder said to carry the gender to *The*.

    Returns:
        With the whole source in the decoder's sight: the encoder's output at *The*, at the
        noun, and at the last word (a control) exchanged. With *The* alone in sight: the
        encoder's output there, then only what the carriers give it, then the other heads.
    """
    encoder = [
        head for head in all_heads(require_transformer(translator)) if head.stack == STACKS[0]
    ]
    others = [head for head in encoder if head not in carriers]
    names = " and ".join(f"{head.layer}.{head.head}" for head in carriers)
    rows: tuple[tuple[str, str, str, Sequence[Head]], ...] = (
        ("everything", "the encoder's output at The", "The", ()),
        ("everything", "the encoder's output at the noun", "noun", ()),
        ("everything", "control: at the last word", "last", ()),
        ("The alone", "the encoder's output at The", "The", ()),
        ("The alone", f"heads {names} at The", "", carriers),
        ("The alone", "control: the other heads at The", "", others),
    )
    runs = [
        (
            pair.subject,
            record_activations(translator, pair.other, []),
            record_activations(translator, pair.same, []),
        )
        for pair in pairs
    ]
    return [
        PatchedArticles(
            *(seen, put),
            other=sum(_exchanged(translator, s, other, seen, at, heads) for s, other, _ in runs),
            same=sum(_exchanged(translator, s, same, seen, at, heads) for s, _, same in runs),
            of=len(pairs),
        )
        for seen, put, at, heads in rows
    ]


def _exchanged(
    translator: Translator,
    subject: ArticleCase,
    run: Activations,
    seen: str,
    at: str,
    heads: Sequence[Head],
) -> bool:
    """Say whether the other article is the most probable with some vectors of a run."""
    places = {"The": [0], "noun": subject.noun, "last": subject.last, "": []}[at]
    hidden = range(1, subject.length) if seen == "The alone" else ()
    model, outputs = (
        require_transformer(translator),
        {head: {0: run.heads[head][0]} for head in heads},
    )
    memory = {place: run.memory[place] for place in places}
    with patch_memory(model, memory), patch_heads(model, outputs):
        return _first_article(translator, subject, (), hidden) not in (None, subject.article)
