"""Heads named by what they do, the name found on some sentences and tested on others.

Not in the paper; after Voita et al. 2019, https://aclanthology.org/P19-1580, who found positional
and syntactic heads and one for rare words. A head plays a role in a case if the place that the
role names gets more of its weight than any other. A role that is not itself a number of places
has the lower of two shares: of the cases that the most frequent number of places away gets right,
and of the others. A head that always looks equally far away fails in one of the two. Attention is a
question: beside the score belongs what the head's removal costs (see `removals`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from lessonkit.analysis.heads import Head
from lessonkit.analysis.pairs import Pair
from lessonkit.analysis.roles import READ, READ_BEFORE, SAID, SAYING, START, said_words
from lessonkit.analysis.word_pairs import BEFORE, ITSELF, NEXT, relations
from transformer.data import embedded as reader
from transformer.data.embedded import Sentence, as_written
from transformer.models.translator import Translator
from transformer.support.errors import UserError

RARE = "the rarest word"
NAMED = 0.5  # from this score a head is named: it plays the role more often than not
FEWEST = 50  # cases of a role that is scored
_PLACED: frozenset[int] = frozenset()  # of a role that is itself a number of places away


class Role(NamedTuple):
    """How often every head of a stack plays a role.

    Attributes:
        stack: "encoder", "decoder" or "cross".
        role: Who looks where.
        cases: How many times it could be played, where the most frequent number of places away
            would not do.
        even: The share of these that looking evenly would get right, 0 to 1.
        scores: The share of cases in which each head's greatest weight lies there, the lower of
            these and the others, (num_layers, num_heads).
    """

    stack: str
    role: str
    cases: int
    even: float
    scores: Tensor


class NamedHead(NamedTuple):
    """A head and the role it plays best.

    Attributes:
        head: Which.
        role: In which it is furthest above an even spread, on other sentences.
        score, even, cases: As in `Role`.
    """

    head: Head
    role: str
    score: float
    even: float
    cases: int

    @property
    def named(self) -> bool:
        """Say whether it plays the role more often than not."""
        return self.score >= NAMED


class _Case(NamedTuple):
    """One row that may play a role.

    Attributes:
        stack, role: As in `Role`.
        even: The share of the row's places that the role names.
        away: How many places away the named ones are, from the row's own place; empty where the
            role is itself a number of places away.
        played: Which heads do, (num_layers, num_heads).
    """

    stack: str
    role: str
    even: float
    away: frozenset[int]
    played: Tensor


def role_scores(translator: Translator, sentences: Sequence[Sentence]) -> list[Role]:
    """Score every head in every role while a model reads the corpus's own translations.

    The encoder's rows are English words (trees are of English): in the next place, the one
    before, itself, along the relations of the tree (see `word_pairs.relations`), and at the
    sentence's rarest word. The decoder's rows are tokens. Cross-attention's rows are words
    that are said: at their own source word, at that of the word before, at the rarest.

    Args:
        translator: Between two languages of the embedded corpus.
        sentences: Of that corpus.

    Raises:
        UserError: there are no sentences.
    """
    if not sentences:
        raise UserError("no sentences to score the heads on: give at least one")
    lang = translator.recipe.data.src_lang
    counts = Counter(w for each in reader.sentences("train") for w in each.text(lang).split())
    found: dict[tuple[str, str], list[_Case]] = {}
    for sentence in sentences:
        for case in _cases(translator, sentence, counts):
            found.setdefault((case.stack, case.role), []).append(case)
    roles = ((asked, *_by_place(cases)) for asked, cases in found.items())
    return [
        Role(
            *asked,
            cases=len(others),
            even=sum(case.even for case in others) / len(others),
            scores=torch.minimum(_share(usual), _share(others)) if usual else _share(others),
        )
        for asked, usual, others in roles
        if len(others) >= FEWEST and (not usual or len(usual) >= FEWEST)
    ]


def name_heads(chosen_on: Sequence[Role], scored_on: Sequence[Role]) -> list[NamedHead]:
    """Give each head the role in which it is furthest above an even spread, and score it anew.

    Args:
        chosen_on: Scores on sentences that choose the role.
        scored_on: Scores on other sentences, whose figures are given.
    """
    named = []
    told = {(role.stack, role.role): role for role in scored_on}
    for stack in dict.fromkeys(role.stack for role in chosen_on):
        roles = [r for r in chosen_on if r.stack == stack and (r.stack, r.role) in told]
        above = torch.stack([role.scores - role.even for role in roles])
        for (layer, head), best in _entries(above.argmax(0)):
            role = told[stack, roles[best].role]
            score = float(role.scores[layer, head])
            place = Head(stack, layer + 1, head + 1)
            named.append(NamedHead(place, role.role, score, role.even, role.cases))
    return named


def _entries(matrix: Tensor) -> Iterator[tuple[tuple[int, int], int]]:
    """Give the entries of a matrix of whole numbers with their places, row by row."""
    for row, values in enumerate(matrix.tolist()):
        for column, value in enumerate(values):
            yield (row, column), value


def _by_place(cases: Sequence[_Case]) -> tuple[list[_Case], list[_Case]]:
    """Part the cases that the most frequent number of places away gets right from the others."""
    offsets = Counter(away for case in cases for away in case.away)
    usual = next((away for away, _ in offsets.most_common(1)), None)
    return (
        [case for case in cases if usual in case.away],
        [case for case in cases if usual not in case.away],
    )


def _share(cases: Sequence[_Case]) -> Tensor:
    """Give the share of cases in which each head plays its role, (num_layers, num_heads)."""
    return torch.stack([case.played for case in cases]).float().mean(0)


def _cases(
    translator: Translator, sentence: Sentence, counts: Mapping[str, int]
) -> Iterator[_Case]:
    """Give the cases of every role in one sentence."""
    data = translator.recipe.data
    src_words = sentence.text(data.src_lang).split()
    src = as_written(sentence.text(data.src_lang), data.src_lang)
    tgt = as_written(sentence.text(data.tgt_lang), data.tgt_lang)
    pair = Pair(translator, src, tgt)
    maps = pair.maps()
    rarest = min(range(len(src_words)), key=lambda word: counts[src_words[word]])
    if data.src_lang == "en":
        of_words = pair.by_src_words @ maps.encoder[..., :-1, :] @ pair.of_src_words
        yield from _encoder_cases(sentence, of_words.argmax(-1), rarest)
    strongest = maps.decoder.argmax(-1)  # (num_layers, num_heads, tgt_len)
    for row in range(2, maps.decoder.shape[-1]):
        for role, column in ((READ, row), (READ_BEFORE, row - 1), (START, 0)):
            yield _Case("decoder", role, 1 / (row + 1), _PLACED, strongest[..., row] == column)
    of_words = pair.of_tgt_words @ maps.cross[..., :-1, :] @ pair.of_src_words
    chosen, places = of_words.argmax(-1), of_words.shape[-1]
    links = sentence.alignment(data.src_lang, data.tgt_lang)
    for role, query, named in said_words(links, of_words.shape[-2]):
        if role in (SAYING, SAID):
            yield _case("cross", role, query, named, chosen, places)
            if role == SAYING and rarest not in named:
                yield _case("cross", RARE, query, {rarest}, chosen, places)


def _encoder_cases(sentence: Sentence, chosen: Tensor, rarest: int) -> Iterator[_Case]:
    """Give the cases of the encoder's roles; `chosen` is (num_layers, num_heads, src_words)."""
    words = chosen.shape[-1]
    for query in range(words):
        for role, key in ((ITSELF, query), (BEFORE, query - 1), (NEXT, query + 1)):
            if 0 <= key < words:
                played = chosen[..., query] == key
                yield _Case("encoder", role, 1 / (words + 1), _PLACED, played)
        if query != rarest:
            yield _case("encoder", RARE, query, {rarest}, chosen, words + 1)
    for pair in relations(sentence):
        yield _case("encoder", pair.question, pair.query, set(pair.keys), chosen, words + 1)


def _case(stack: str, role: str, query: int, keys: set[int], chosen: Tensor, places: int) -> _Case:
    """Give a case of a role that names some words."""
    named = torch.tensor(sorted(keys))
    played = torch.isin(chosen[..., query], named)
    return _Case(stack, role, len(keys) / places, frozenset(key - query for key in keys), played)
