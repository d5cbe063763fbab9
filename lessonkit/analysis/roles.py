"""Does a head look where it seems to? Questions about every head, counted over sentences.

Not in the paper, whose Figures 3 to 5 show single heads on single sentences. The answer to a
question is the share of a head's weight that lies on the words the question names, beside the
share that would lie there if the weight were spread evenly.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from lessonkit.analysis.pairs import Pair
from lessonkit.analysis.word_pairs import word_pairs
from transformer.data.embedded import Sentence, as_written
from transformer.models.translator import Translator
from transformer.support.errors import UserError

READ, READ_BEFORE, START = "the token just read", "the token before it", "<bos>"
SAYING, SAID, NEXT_SAID = "the word being said", "the word said before", "the word said next"


class Answer(NamedTuple):
    """What a question found in every head of a stack.

    Attributes:
        stack: "encoder", "decoder" or "cross".
        question: Who looks where.
        cases: How many times it was asked.
        even: Mean share on the named words if a row were spread evenly, 0 to 1.
        shares: Mean share of each head, (num_layers, num_heads).
    """

    stack: str
    question: str
    cases: int
    even: float
    shares: Tensor


_Case = tuple[str, str, float, Tensor]  # stack, question, even share, (num_layers, num_heads)


def ask(translator: Translator, sentences: Sequence[Sentence]) -> list[Answer]:
    """Ask all questions of a model that reads the corpus's own translations.

    The encoder is asked about English sources alone: trees are of English (see `word_pairs`).
    Cross-attention is asked in the rows that say a word, where the words said before and next
    are not translations of the same source word.

    Args:
        translator: Between two languages of the embedded corpus.
        sentences: Of that corpus.

    Raises:
        UserError: there are no sentences.
    """
    if not sentences:
        raise UserError("no sentences to ask about: give at least one")
    found: dict[tuple[str, str], list[tuple[float, Tensor]]] = {}
    for sentence in sentences:
        for stack, question, even, shares in _cases(translator, sentence):
            found.setdefault((stack, question), []).append((even, shares))
    return [
        Answer(
            *asked,
            cases=len(cases),
            even=sum(even for even, _ in cases) / len(cases),
            shares=torch.stack([shares for _, shares in cases]).mean(0),
        )
        for asked, cases in found.items()
    ]


def _cases(translator: Translator, sentence: Sentence) -> Iterator[_Case]:
    """Give the cases of every question in one sentence."""
    data = translator.recipe.data
    src = as_written(sentence.text(data.src_lang), data.src_lang)
    tgt = as_written(sentence.text(data.tgt_lang), data.tgt_lang)
    pair = Pair(translator, src, tgt)
    maps = pair.maps()

    columns = pair.of_src_words[:, :-1]  # (src tokens, src words), a row of 0 for "<eos>"
    even = columns.mean(0).tolist()  # "<eos>" can be attended to as well
    if data.src_lang == "en":
        words = pair.by_src_words @ maps.encoder[..., :-1, :] @ columns
        for question, query, keys in word_pairs(sentence):
            named = list(keys)
            share = words[:, :, query, named].sum(-1)
            yield "encoder", question, sum(even[key] for key in named), share
    for row in range(2, maps.decoder.shape[-1]):
        for question, column in ((READ, row), (READ_BEFORE, row - 1), (START, 0)):
            yield "decoder", question, 1 / (row + 1), maps.decoder[:, :, row, column]
    words = pair.of_tgt_words @ maps.cross[..., :-1, :] @ columns
    links = sentence.alignment(data.src_lang, data.tgt_lang)
    for question, query, said in said_words(links, words.shape[-2]):
        named = list(said)
        yield "cross", question, sum(even[key] for key in named), words[:, :, query, named].sum(-1)


def said_words(
    links: frozenset[tuple[int, int]], tgt_words: int
) -> Iterator[tuple[str, int, set[int]]]:
    """Give for target words the source words of the one said now, the one before and the next.

    Left out are the first word, words that have no source word or follow one that has none, and
    those that share one with the word before.

    Args:
        links: Of the sentence (source word, target word).
        tgt_words: How many words the target has.
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
