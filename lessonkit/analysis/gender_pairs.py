"""Which place carries a French article's gender: carried over between sentences, and counted.

Not in the paper. *The saleswoman is reading* and *The salesman is reading* differ in one word,
and in French in *La* and *Le*. One vector of the one is put in the run of the other (see
`patched`); the article that comes out says whether the vector held the gender.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from lessonkit.analysis.articles import ARTICLES, Subject, subjects
from lessonkit.analysis.heads import STACKS, Head, all_heads
from lessonkit.analysis.hooks import network_of
from lessonkit.analysis.interventions import next_token
from lessonkit.analysis.lexicon import Noun
from lessonkit.analysis.lexicon_tables import lexicon
from lessonkit.analysis.patching import Run, patched, run_of
from transformer.data.parallel import ParallelText
from transformer.models.translator import Translator
from transformer.support.errors import UserError

SEXES = {"male", "female"}
VOWELS = "aeiouhéèêœ"  # before these, h perhaps, it is l'
PRONOUNS = {"he", "she", "him", "his", "her"}


class GenderPair(NamedTuple):
    """A sentence, and two in which its first noun is another, all with as many tokens.

    Attributes:
        subject: The sentence, and where its noun stands.
        other: With a noun of the other French gender: *Le* for *La*, *La* for *Le*.
        same: The control: with another noun of the same gender.
    """

    subject: Subject
    other: str
    same: str


class Carried(NamedTuple):
    """What came of putting vectors of other sentences into a sentence's run.

    Attributes:
        seen: What the decoder could see of the source.
        put: Which vectors were exchanged.
        other: How many articles became the other one, with vectors of a noun of that gender.
        same: The control: how many did with vectors of a noun of the same gender.
        of: How many sentences.
    """

    seen: str
    put: str
    other: int
    same: int
    of: int


def gender_pairs(translator: Translator, text: ParallelText) -> list[GenderPair]:
    """Make minimal pairs of the sentences that begin with *The* and a noun.

    The new noun is the one most like the old in what it can be said of (the lexicon's classes;
    people stay people), then in its French spelling: *salesman* for *saleswoman*. Sentences
    with *he, she, him, his* or *her* tell the gender twice and are left out.

    Args:
        translator: Whose tokens are counted.
        text: Of the embedded corpus, English to French.

    Raises:
        UserError: the text is of other languages.
    """
    nouns, pairs = {noun.en: noun for noun in lexicon().nouns}, []
    for subject in subjects(translator, text):
        words = subject.sentence.split()
        at = next(i for i in (1, 2) if words[i].rstrip(".,?!") in nouns)
        noun = nouns[words[at].rstrip(".,?!")]
        if PRONOUNS & {word.rstrip(".,?!").lower() for word in words}:
            continue
        other, same = (
            " ".join([*words[:at], words[at].replace(noun.en, new.en), *words[at + 1 :]])
            for new in (_like(noun, same_gender=False), _like(noun, same_gender=True))
        )
        if all(_tokens(translator, each) == subject.length for each in (other, same)):
            pairs.append(GenderPair(subject, other, same))
    return pairs


def _like(noun: Noun, same_gender: bool) -> Noun:
    """Give the noun most like another, of its French gender or the other one."""
    candidates = [
        each
        for each in lexicon().nouns
        if each is not noun
        and (each.fr_gender == noun.fr_gender) == same_gender
        and bool(each.sex) == bool(noun.sex)
        and each.fr[0] not in VOWELS
    ]

    def alike(each: Noun) -> tuple[int, int]:
        shared = (each.classes & noun.classes) - SEXES
        letters = zip(each.fr, noun.fr, strict=False)
        return len(shared), sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], letters))

    return max(candidates, key=alike)


def _tokens(translator: Translator, sentence: str) -> int:
    return len(translator.src_tokenizer.encode(sentence)) + 1


def carried_articles(
    translator: Translator, pairs: Sequence[GenderPair], carriers: Sequence[Head]
) -> list[Carried]:
    """Count how often an exchanged vector exchanges the article.

    Args:
        translator: A Transformer from English to French.
        pairs: From `gender_pairs`.
        carriers: Heads of the encoder said to carry the gender to *The*.

    Returns:
        With the whole source in the decoder's sight: the encoder's output at *The*, at the
        noun, and at the last word (a control) exchanged. With *The* alone in sight: the
        encoder's output there, then only what the carriers give it, then the other heads.

    Raises:
        UserError: there are no pairs, or the network is no Transformer.
    """
    if not pairs:
        raise UserError("no pairs to exchange anything between: give at least one")
    encoder = [head for head in all_heads(network_of(translator)) if head.stack == STACKS[0]]
    others = [head for head in encoder if head not in carriers]
    names = " and ".join(f"{head.layer}.{head.head}" for head in carriers)
    rows = (
        ("everything", "the encoder's output at The", "The", ()),
        ("everything", "the encoder's output at the noun", "noun", ()),
        ("everything", "control: at the last word", "last", ()),
        ("The alone", "the encoder's output at The", "The", ()),
        ("The alone", f"heads {names} at The", "", carriers),
        ("The alone", "control: the other heads at The", "", others),
    )
    runs = [
        (pair, run_of(translator, pair.other, []), run_of(translator, pair.same, []))
        for pair in pairs
    ]
    return [
        Carried(
            *(seen, put),
            other=sum(_exchanged(translator, p, a, seen, place, heads) for p, a, _ in runs),
            same=sum(_exchanged(translator, p, b, seen, place, heads) for p, _, b in runs),
            of=len(pairs),
        )
        for seen, put, place, heads in rows
    ]


def _exchanged(
    translator: Translator,
    pair: GenderPair,
    run: Run,
    seen: str,
    place: str,
    heads: Sequence[Head],
) -> bool:
    """Say whether the other article is the most probable with some vectors of a run."""
    subject = pair.subject
    places = {"The": [0], "noun": subject.noun, "last": subject.last, "": []}[place]
    hidden = range(1, subject.length) if seen == "The alone" else ()
    memory = {at: run.memory[at] for at in places}
    outputs = {head: {0: run.heads[head][0]} for head in heads}
    with patched(network_of(translator), memory, outputs):
        chance = next_token(translator, subject.sentence, after=hidden)
    (wanted,) = (article for article in ARTICLES if article != subject.article)
    return int(chance.argmax()) == translator.tgt_tokenizer.encode(wanted)[0]
