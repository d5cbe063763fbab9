"""Which word tells a French article its gender: counted over sentences with words hidden.

Not in the paper. English *the* says nothing of gender; *le* or *la* is decided by the noun.
"""

from collections.abc import Collection
from typing import NamedTuple

from lessonkit.analysis.interventions import next_token
from lessonkit.analysis.lexicon_tables import lexicon
from transformer.data.parallel import ParallelText
from transformer.models.translator import Translator
from transformer.support.errors import UserError

ARTICLES = ("Le", "La")


class Subject(NamedTuple):
    """A sentence that begins with *The*, perhaps an adjective, and a noun.

    Attributes:
        sentence: In English.
        article: The first word of its translation, one of `ARTICLES`.
        noun: Places of the noun's tokens, from 0.
        last: Places of the last word's tokens.
        length: Tokens of the sentence, its end mark included.
    """

    sentence: str
    article: str
    noun: list[int]
    last: list[int]
    length: int


def subjects(translator: Translator, text: ParallelText) -> list[Subject]:
    """Find the sentences whose first French word is *Le* or *La* because of a noun beside *The*.

    Args:
        translator: Whose tokens are counted.
        text: Of the embedded corpus, English to French.

    Raises:
        UserError: the text is of other languages.
    """
    if (text.src_lang, text.tgt_lang) != ("en", "fr"):
        raise UserError(f"{text.src_lang}-{text.tgt_lang}: give a text from en to fr")
    nouns, found = {noun.en for noun in lexicon().nouns}, []
    for sentence, translation in zip(text.src, text.tgt, strict=True):
        words, article = sentence.split(), translation.split()[0]
        at = next((i for i in (1, 2) if i < len(words) and words[i].rstrip(".,?!") in nouns), None)
        if words[0] != "The" or article not in ARTICLES or at is None:
            continue
        pieces = translator.src_tokenizer.pieces(translator.src_tokenizer.encode(sentence))
        starts = [i for i, piece in enumerate(pieces) if piece.startswith("▁")]
        ends = [*starts[1:], len(pieces)]
        noun, last = (list(range(starts[word], ends[word])) for word in (at, -1))
        found.append(Subject(sentence, article, noun, last, len(pieces) + 1))
    return found


def first_articles(translator: Translator, text: ParallelText) -> list[tuple[str, int, int]]:
    """Count the right first words of translations with different words hidden.

    Args:
        translator: A Transformer from English to French.
        text: Of the embedded corpus, English to French.

    Returns:
        For each thing hidden: what, how many articles are right (the most probable token is
        the right one), and of how many.

    Raises:
        UserError: the text is of other languages, or the network is no Transformer.
    """
    cases = subjects(translator, text)
    first = {word: translator.tgt_tokenizer.encode(word)[0] for word in ARTICLES}

    def right(case: Subject, before: Collection[int] = (), after: Collection[int] = ()) -> bool:
        chance = next_token(translator, case.sentence, before=before, after=after)
        return int(chance.argmax()) == first[case.article]

    counted = {
        "nothing hidden": [right(case) for case in cases],
        "the noun hidden from the decoder": [right(case, after=case.noun) for case in cases],
        "all but The hidden from the decoder": [
            right(case, after=range(1, case.length)) for case in cases
        ],
        "the noun hidden from the encoder too": [right(case, before=case.noun) for case in cases],
        "control: the last word hidden so": [right(case, before=case.last) for case in cases],
    }
    return [(hidden, sum(answers), len(answers)) for hidden, answers in counted.items()]
