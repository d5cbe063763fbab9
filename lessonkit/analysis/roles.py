"""Does a head look where it seems to? Questions about every head, counted over sentences.

Not in the paper, whose Figures 3 to 5 show single heads on single sentences. The answer to a
question is the share of a head's weight that lies on the words the question names, beside the
share that would lie there if the weight were spread evenly. Which words of an English sentence
belong together is read from its tree of phrases (see `data.corpus.generator.parse`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from lessonkit.analysis.alignment import SentencePair
from transformer.data.embedded_corpus import Sentence, detokenize
from transformer.models.translator import Translator

NEXT, BEFORE, ITSELF = "any word: the next word", "any word: the word before", "any word: itself"
NEGATED = "not: the next word"
NOUN, PAST_ADJECTIVE = "determiner: its noun", "... with an adjective between: the noun"
ADJECTIVE = "... control: the adjective"
OWNED, OWNER = "his, her, their: what is owned", "his, her, their: the owner"
MEANT, NOT_MEANT = "he, she, they: who is meant", "... control: the nearest other noun"
SUBJECT, NOT_SUBJECT = "verb past a clause: its subject", "... control: the nearest noun"
QUESTIONS = (
    *(NEXT, BEFORE, ITSELF, NEGATED, NOUN, PAST_ADJECTIVE, ADJECTIVE),
    *(OWNED, OWNER, MEANT, NOT_MEANT, SUBJECT, NOT_SUBJECT),
)


class WordPair(NamedTuple):
    """A word, and where the question says that it looks; words count from 0."""

    question: str  # one of the constants above
    query: int  # the word that attends
    keys: tuple[int, ...]  # several words where two subjects are joined


class _Phrase(NamedTuple):
    """A phrase of words start to end - 1, and which phrase it is part of (-1: of none)."""

    label: str
    start: int
    end: int
    parent: int


class Tree:
    """A sentence's phrases, outer ones first, and the part of speech of each word."""

    def __init__(self, parse: str) -> None:
        self.phrases: list[_Phrase] = []
        self.tags: list[str] = []
        open_phrases: list[int] = []
        for token in parse.split():
            if token.startswith("("):
                parent = open_phrases[-1] if open_phrases else -1
                open_phrases.append(len(self.phrases))
                self.phrases.append(_Phrase(token[1:], len(self.tags), -1, parent))
            elif token.startswith(")"):
                at = open_phrases.pop()
                self.phrases[at] = self.phrases[at]._replace(end=len(self.tags))
            else:
                self.tags.append(token)

    def parts(self, phrase: int, *labels: str) -> list[int]:
        """Give the phrases right inside another that have one of the labels."""
        return [i for i, p in enumerate(self.phrases) if p.parent == phrase and p.label in labels]

    def around(self, word: int, label: str) -> int:
        """Give the innermost phrase of a label that a word stands in; -1 if there is none."""
        found = [
            i for i, p in enumerate(self.phrases) if p.label == label and p.start <= word < p.end
        ]
        return found[-1] if found else -1

    def nouns(self, phrase: int) -> tuple[int, ...]:
        """Give the nouns a phrase is about, not those of a clause or a place inside it."""
        start, end = self.phrases[phrase].start, self.phrases[phrase].end
        inside = [self.phrases[part] for part in self.parts(phrase, "SBAR", "PP")]
        return tuple(
            word
            for word in range(start, end)
            if self.tags[word] == "NN" and not any(p.start <= word < p.end for p in inside)
        )

    def subject(self, clause: int) -> tuple[int, ...]:
        """Give the nouns of a clause's own subject; none if it is a pronoun or left out."""
        return next((self.nouns(part) for part in self.parts(clause, "NP")), ())

    def nearest(self, word: int, besides: tuple[int, ...]) -> tuple[int, ...]:
        """Give the last noun before a word that is not one of some others."""
        found = [i for i in range(word) if self.tags[i] == "NN" and i not in besides]
        return tuple(found[-1:])


def word_pairs(sentence: Sentence) -> Iterator[WordPair]:
    """Give every pair that a question asks about, in one English sentence of the corpus."""
    words, tree = sentence.en.split(), Tree(sentence.parse)
    for word, text in enumerate(words):
        yield WordPair(ITSELF, word, (word,))
        if word:
            yield WordPair(BEFORE, word, (word - 1,))
        if word + 1 < len(words):
            yield WordPair(NEXT, word, (word + 1,))
            if text == "not":
                yield WordPair(NEGATED, word, (word + 1,))
    found = [*_determiners(words, tree), *_pronouns(words, tree), *_past_clauses(tree)]
    yield from (pair for pair in found if pair.keys)


def _determiners(words: list[str], tree: Tree) -> Iterator[WordPair]:
    """Determiners and their nouns; the owner whom *his*, *her*, *their* stand for."""
    for word, text in enumerate(words):
        if tree.tags[word] != "DT":
            continue
        noun = tuple(i for i in tree.nouns(tree.around(word, "NP")) if i > word)[:1]
        yield WordPair(NOUN, word, noun)
        if tree.tags[word + 1] == "JJ" and noun == (word + 2,):
            yield WordPair(PAST_ADJECTIVE, word, noun)
            yield WordPair(ADJECTIVE, word, (word + 1,))
        if text in ("his", "her", "their"):
            yield WordPair(OWNED, word, noun)
            yield WordPair(OWNER, word, tree.subject(tree.around(word, "S")))


def _pronouns(words: list[str], tree: Tree) -> Iterator[WordPair]:
    """Pronouns after *because*, which in this corpus mean the subject of the sentence."""
    for word in range(1, len(words)):
        if words[word - 1] == "because" and words[word] in ("he", "she", "they"):
            meant = tree.subject(0)
            if meant:
                yield WordPair(MEANT, word, meant)
                yield WordPair(NOT_MEANT, word, tree.nearest(word, meant))


def _past_clauses(tree: Tree) -> Iterator[WordPair]:
    """Verbs that a relative clause divides from their subject (as *making ... more difficult*)."""
    for clause, phrase in enumerate(tree.phrases):
        if phrase.label != "S":
            continue
        subjects, verbs = tree.parts(clause, "NP"), tree.parts(clause, "VP")
        if subjects and verbs and tree.parts(subjects[0], "SBAR"):
            verb, nouns = tree.phrases[verbs[0]].start, tree.nouns(subjects[0])
            yield WordPair(SUBJECT, verb, nouns)
            yield WordPair(NOT_SUBJECT, verb, tree.nearest(verb, nouns))


READ, READ_BEFORE, START = "the token just read", "the token before it", "<bos>"
SAYING, SAID, NEXT_SAID = "the word being said", "the word said before", "the word said next"


def said_words(
    links: frozenset[tuple[int, int]], tgt_words: int
) -> Iterator[tuple[str, int, set[int]]]:
    """Give for target words the source words of the one said now, the one before and the next.

    Left out are the first word, words that have no source word or follow one that has none, and
    those that share one with the word before. Links are pairs (source word, target word).
    """
    of = [{src for src, tgt in links if tgt == word} for word in range(tgt_words)]
    for word in range(1, tgt_words):
        now, last = of[word], of[word - 1]
        if not now or not last or now & last:
            continue
        yield SAYING, word, now
        yield SAID, word, last
        following = of[word + 1] if word + 1 < tgt_words else set()
        if following and not following & (now | last):
            yield NEXT_SAID, word, following


class RoleShares(NamedTuple):
    """What a question found in every head of a stack."""

    stack: str  # "encoder", "decoder" or "cross"
    question: str  # who looks where
    cases: int  # how many times it was asked
    even: float  # mean share on the named words if a row were spread evenly, 0 to 1
    shares: Tensor  # mean share of each head, (num_layers, num_heads)


def measure_roles(translator: Translator, sentences: Sequence[Sentence]) -> list[RoleShares]:
    """Ask all questions of a model that reads the corpus's own translations.

    The encoder is asked about English sources alone. Cross-attention is asked in the rows that
    say a word, where the words said before and next are not translations of the same source word.
    """
    found: dict[tuple[str, str], list[tuple[float, Tensor]]] = {}
    for sentence in sentences:
        for stack, question, even, shares in _cases(translator, sentence):
            found.setdefault((stack, question), []).append((even, shares))
    return [
        RoleShares(
            *asked,
            cases=len(cases),
            even=sum(even for even, _ in cases) / len(cases),
            shares=torch.stack([shares for _, shares in cases]).mean(0),
        )
        for asked, cases in found.items()
    ]


def _cases(translator: Translator, sentence: Sentence) -> Iterator[tuple[str, str, float, Tensor]]:
    """Give the cases of every question in one sentence: stack, question, even share, shares.

    The model reads the sentence with its translation; its attention is added up to words.
    """
    langs = translator.recipe.data.src_lang, translator.recipe.data.tgt_lang
    pair = SentencePair(translator, *(detokenize(sentence.text(lang), lang) for lang in langs))
    maps, spread = pair.maps(), pair.of_src_words.mean(0).tolist()  # of a row spread evenly

    def on_words(words: Tensor, query: int, keys: Iterable[int]) -> tuple[float, Tensor]:
        named = list(keys)
        return sum(spread[key] for key in named), words[:, :, query, named].sum(-1)

    if langs[0] == "en":  # trees are of English
        encoder = pair.by_src_words @ maps.encoder[..., :-1, :] @ pair.of_src_words
        for question, query, keys in word_pairs(sentence):
            yield "encoder", question, *on_words(encoder, query, keys)
    for row in range(2, maps.decoder.shape[-1]):
        for question, column in ((READ, row), (READ_BEFORE, row - 1), (START, 0)):
            yield "decoder", question, 1 / (row + 1), maps.decoder[:, :, row, column]
    cross = pair.of_tgt_words @ maps.cross[..., :-1, :] @ pair.of_src_words
    for question, query, said in said_words(sentence.alignment(*langs), cross.shape[-2]):
        yield "cross", question, *on_words(cross, query, said)
