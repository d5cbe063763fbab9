"""Which word tells a French article its gender: counted with words hidden.

Not in the paper. English *the* says nothing of gender; *le* or *la* is decided by the noun.
"""

from collections.abc import Collection
from typing import NamedTuple

from lessonkit.analysis.activations import next_token_probabilities
from lessonkit.analysis.lexicon import french_nouns_by_english
from transformer.data.parallel import ParallelText
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

FRENCH_ARTICLES = ("Le", "La")


class FrenchArticleCase(NamedTuple):
    """A sentence that begins with *The*, perhaps an adjective, and a noun."""

    sentence: str  # in English
    article: str  # the first word of its translation, one of `FRENCH_ARTICLES`
    word: int  # which word is the noun, from 0
    noun: list[int]  # positions of the noun's tokens, from 0
    last: list[int]  # positions of the last word's tokens
    length: int  # tokens of the sentence, its end mark included


@check_argument_types
def find_article_cases(translator: Translator, text: ParallelText) -> list[FrenchArticleCase]:
    """Find the sentences whose first French word is *Le* or *La* because of a noun beside *The*.

    The text is of the embedded corpus, English to French; the translator's tokens are counted.
    """
    if (text.src_lang, text.tgt_lang) != ("en", "fr"):
        raise UserError(f"{text.src_lang}-{text.tgt_lang}: give a text from en to fr")
    cases = []
    for sentence, translation in zip(text.src, text.tgt, strict=True):
        words, article = sentence.split(), next(iter(translation.split()), "")
        word = _first_noun_index(words)
        if word is None or words[0] != "The" or article not in FRENCH_ARTICLES:
            continue
        pieces = translator.src_tokenizer.ids_to_pieces(translator.src_tokenizer.encode(sentence))
        starts = [index for index, piece in enumerate(pieces) if piece.startswith("▁")]
        ends = [*starts[1:], len(pieces)]
        cases.append(
            FrenchArticleCase(
                sentence=sentence,
                article=article,
                word=word,
                noun=list(range(starts[word], ends[word])),
                last=list(range(starts[-1], ends[-1])),
                length=len(pieces) + 1,
            )
        )
    return cases


def _first_noun_index(words: list[str]) -> int | None:
    """Return which word is a noun, the second or the third; None if neither is."""
    for index in (1, 2):
        if index < len(words) and strip_punctuation(words[index]) in french_nouns_by_english():
            return index
    return None


def strip_punctuation(word: str) -> str:
    """Return a word without the sentence's punctuation after it."""
    return word.rstrip(".,?!")


@check_argument_types
def count_correct_articles(
    translator: Translator, text: ParallelText
) -> list[tuple[str, int, int]]:
    """Count the right first words of translations, from English to French, with words hidden.

    Returns:
        For each thing hidden: what, how many articles are right (the most probable token is
        the right one), and of how many.
    """
    cases = find_article_cases(translator, text)
    counts = {
        "nothing hidden": 0,
        "the noun hidden from the decoder": 0,
        "all but The hidden from the decoder": 0,
        "the noun hidden from the encoder too": 0,
        "control: the last word hidden instead": 0,
    }
    for case in cases:
        articles = {
            "nothing hidden": predict_first_article(translator, case),
            "the noun hidden from the decoder": predict_first_article(
                translator, case, after=case.noun
            ),
            "all but The hidden from the decoder": predict_first_article(
                translator, case, after=range(1, case.length)
            ),
            "the noun hidden from the encoder too": predict_first_article(
                translator, case, before=case.noun
            ),
            "control: the last word hidden instead": predict_first_article(
                translator, case, before=case.last
            ),
        }
        for hidden, article in articles.items():
            if article == case.article:
                counts[hidden] += 1
    return [(hidden, count, len(cases)) for hidden, count in counts.items()]


def predict_first_article(
    translator: Translator,
    case: FrenchArticleCase,
    before: Collection[int] = (),
    after: Collection[int] = (),
) -> str | None:
    """Return the article whose first token is the most probable one; None if another token is.

    Source positions may be hidden before and after the encoder (see `SourceMaskedModel`).
    """
    probabilities = next_token_probabilities(translator, case.sentence, before=before, after=after)
    most_probable = int(probabilities.argmax())
    for article in FRENCH_ARTICLES:
        if translator.tgt_tokenizer.encode(article)[0] == most_probable:
            return article
    return None
