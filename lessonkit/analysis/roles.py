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
from lessonkit.analysis.phrase_tree import ConstituencyTree
from transformer.data.embedded_corpus import TrilingualSentence, detokenize
from transformer.models.translator import Translator
from transformer.support.signatures import check_argument_types

NEXT_WORD_QUESTION, PREVIOUS_WORD_QUESTION, SAME_WORD_QUESTION = (
    "any word: the next word",
    "any word: the word before",
    "any word: itself",
)
NEGATED_WORD_QUESTION = "not: the next word"
NOUN_QUESTION, NOUN_PAST_ADJECTIVE_QUESTION = (
    "determiner: its noun",
    "... with an adjective between: the noun",
)
DETERMINER_TO_ADJECTIVE_CONTROL = "... control: the adjective"
OWNED_NOUN_QUESTION, OWNER_QUESTION = "his, her, their: what is owned", "his, her, their: the owner"
ANTECEDENT_QUESTION, ANTECEDENT_CONTROL_QUESTION = (
    "he, she, they: who is meant",
    "... control: the nearest other noun",
)
SUBJECT_QUESTION, SUBJECT_CONTROL_QUESTION = (
    "verb past a clause: its subject",
    "... control: the nearest noun",
)
ROLE_QUESTIONS = (
    NEXT_WORD_QUESTION,
    PREVIOUS_WORD_QUESTION,
    SAME_WORD_QUESTION,
    NEGATED_WORD_QUESTION,
    NOUN_QUESTION,
    NOUN_PAST_ADJECTIVE_QUESTION,
    DETERMINER_TO_ADJECTIVE_CONTROL,
    OWNED_NOUN_QUESTION,
    OWNER_QUESTION,
    ANTECEDENT_QUESTION,
    ANTECEDENT_CONTROL_QUESTION,
    SUBJECT_QUESTION,
    SUBJECT_CONTROL_QUESTION,
)


class ExpectedAttention(NamedTuple):
    """A word, and where the question says that it looks; words count from 0."""

    question: str  # one of the constants above
    query: int  # the word that attends
    keys: tuple[int, ...]  # several words where two subjects are joined


def head_question_word_pairs(sentence: TrilingualSentence) -> Iterator[ExpectedAttention]:
    """Yield every pair that a question asks about, in one English sentence of the corpus."""
    words, tree = sentence.en.split(), ConstituencyTree(sentence.parse)
    for word, text in enumerate(words):
        yield ExpectedAttention(SAME_WORD_QUESTION, word, (word,))
        if word:
            yield ExpectedAttention(PREVIOUS_WORD_QUESTION, word, (word - 1,))
        if word + 1 < len(words):
            yield ExpectedAttention(NEXT_WORD_QUESTION, word, (word + 1,))
            if text == "not":
                yield ExpectedAttention(NEGATED_WORD_QUESTION, word, (word + 1,))
    for pair in (
        *_determiner_queries(words, tree),
        *_pronoun_queries(words, tree),
        *_verb_queries(tree),
    ):
        if pair.keys:
            yield pair


def _determiner_queries(words: list[str], tree: ConstituencyTree) -> Iterator[ExpectedAttention]:
    """Yield determiners and their nouns, and the owner whom *his*, *her*, *their* stand for."""
    for word, text in enumerate(words):
        if tree.tags[word] != "DT":
            continue
        nouns = [noun for noun in tree.head_nouns(tree.innermost_phrase(word, "NP")) if noun > word]
        noun = tuple(nouns[:1])
        yield ExpectedAttention(NOUN_QUESTION, word, noun)
        if tree.tags[word + 1] == "JJ" and noun == (word + 2,):
            yield ExpectedAttention(NOUN_PAST_ADJECTIVE_QUESTION, word, noun)
            yield ExpectedAttention(DETERMINER_TO_ADJECTIVE_CONTROL, word, (word + 1,))
        if text in ("his", "her", "their"):
            yield ExpectedAttention(OWNED_NOUN_QUESTION, word, noun)
            yield ExpectedAttention(
                OWNER_QUESTION, word, tree.subject_nouns(tree.innermost_phrase(word, "S"))
            )


def _pronoun_queries(words: list[str], tree: ConstituencyTree) -> Iterator[ExpectedAttention]:
    """Yield pronouns after *because*, which in this corpus mean the subject of the sentence."""
    for word in range(1, len(words)):
        if words[word - 1] == "because" and words[word] in ("he", "she", "they"):
            subject = tree.subject_nouns(0)
            if subject:
                yield ExpectedAttention(ANTECEDENT_QUESTION, word, subject)
                yield ExpectedAttention(
                    ANTECEDENT_CONTROL_QUESTION, word, tree.noun_before(word, subject)
                )


def _verb_queries(tree: ConstituencyTree) -> Iterator[ExpectedAttention]:
    """Yield verbs that a relative clause divides from their subject.

    Figure 3 of the paper has one: *making ... more difficult*.
    """
    for clause, phrase in enumerate(tree.phrases):
        if phrase.label != "S":
            continue
        subjects, verb_phrases = tree.child_phrases(clause, "NP"), tree.child_phrases(clause, "VP")
        if subjects and verb_phrases and tree.child_phrases(subjects[0], "SBAR"):
            verb, nouns = tree.phrases[verb_phrases[0]].start, tree.head_nouns(subjects[0])
            yield ExpectedAttention(SUBJECT_QUESTION, verb, nouns)
            yield ExpectedAttention(SUBJECT_CONTROL_QUESTION, verb, tree.noun_before(verb, nouns))


READ_TOKEN_QUESTION, PREVIOUS_TOKEN_QUESTION, BOS_QUESTION = (
    "the token just read",
    "the token before it",
    "<bos>",
)
CURRENT_SOURCE_QUESTION, PREVIOUS_SOURCE_QUESTION, NEXT_SOURCE_QUESTION = (
    "the word being said",
    "the word said before",
    "the word said next",
)


def aligned_source_queries(
    links: frozenset[tuple[int, int]], tgt_words: int
) -> Iterator[tuple[str, int, set[int]]]:
    """Yield for target words the source words of the current, the previous and the next one.

    Left out are the first word, words that have no source word or follow one that has none, and
    those that share one with the word before. Links are pairs (source word, target word).
    """
    sources: list[set[int]] = [set() for _ in range(tgt_words)]
    for src, tgt in links:
        sources[tgt].add(src)
    for word in range(1, tgt_words):
        current, previous = sources[word], sources[word - 1]
        if not current or not previous or current & previous:
            continue
        yield CURRENT_SOURCE_QUESTION, word, current
        yield PREVIOUS_SOURCE_QUESTION, word, previous
        following = sources[word + 1] if word + 1 < tgt_words else set()
        if following and not following & (current | previous):
            yield NEXT_SOURCE_QUESTION, word, following


class RoleAttentionByHead(NamedTuple):
    """What a question found in every head of a stack."""

    stack: str  # "encoder", "decoder" or "cross"
    question: str  # who looks where
    cases: int  # how many times it was asked
    even: float  # mean share on the named words if a row were spread evenly, 0 to 1
    shares: Tensor  # mean share of each head, (num_layers, num_heads)


@check_argument_types
def measure_roles(
    translator: Translator, sentences: Sequence[TrilingualSentence]
) -> list[RoleAttentionByHead]:
    """Ask all questions of a model that reads the corpus's own translations.

    The encoder is asked about English sources alone. Cross-attention is asked in the rows that
    predict a word, if the words before and after it are not translations of the same source word.
    """
    cases: dict[tuple[str, str], list[_RoleCaseShares]] = {}
    for sentence in sentences:
        for case in _measure_role_cases(translator, sentence):
            cases.setdefault((case.stack, case.question), []).append(case)
    return [
        RoleAttentionByHead(
            stack=stack,
            question=question,
            cases=len(asked),
            even=sum(case.even for case in asked) / len(asked),
            shares=torch.stack([case.shares for case in asked]).mean(0),
        )
        for (stack, question), asked in cases.items()
    ]


class _RoleCaseShares(NamedTuple):
    """A question asked once: the shares on the words that it names, of a row spread evenly too."""

    stack: str
    question: str
    even: float
    shares: Tensor  # (num_layers, num_heads)


def _measure_role_cases(
    translator: Translator, sentence: TrilingualSentence
) -> Iterator[_RoleCaseShares]:
    """Yield the cases of every question in one sentence.

    The model reads the sentence with its translation; its attention is added up to words.
    """
    src_lang, tgt_lang = translator.recipe.data.src_lang, translator.recipe.data.tgt_lang
    pair = SentencePair(
        translator,
        detokenize(sentence.text(src_lang), src_lang),
        detokenize(sentence.text(tgt_lang), tgt_lang),
    )
    maps = pair.attention_maps()
    even_row = pair.src_piece_shares.mean(0).tolist()  # of a row spread evenly over tokens

    def case(
        stack: str, question: str, weights: Tensor, query: int, keys: Iterable[int]
    ) -> _RoleCaseShares:
        words = list(keys)
        even = sum(even_row[word] for word in words)
        return _RoleCaseShares(stack, question, even, weights[:, :, query, words].sum(-1))

    if src_lang == "en":  # trees are of English
        encoder = pair.src_word_mean_matrix @ maps.encoder[..., :-1, :] @ pair.src_piece_shares
        for question, query, keys in head_question_word_pairs(sentence):
            yield case("encoder", question, encoder, query, keys)
    for row in range(2, maps.decoder.shape[-1]):
        for question, column in (
            (READ_TOKEN_QUESTION, row),
            (PREVIOUS_TOKEN_QUESTION, row - 1),
            (BOS_QUESTION, 0),
        ):
            yield _RoleCaseShares(
                "decoder", question, 1 / (row + 1), maps.decoder[:, :, row, column]
            )
    cross = pair.tgt_word_mean_matrix @ maps.cross[..., :-1, :] @ pair.src_piece_shares
    links = sentence.alignment(src_lang, tgt_lang)
    for question, query, sources in aligned_source_queries(links, cross.shape[-2]):
        yield case("cross", question, cross, query, sources)
