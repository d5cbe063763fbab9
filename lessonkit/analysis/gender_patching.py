"""Which place carries a noun's gender to the French article: counted by activation patching.

Not in the paper. *The saleswoman is reading* and *The salesman is reading* differ in one word, and
in French in *La* and *Le*. If a vector of the one sentence's run is put into the other's, the
article that comes out says whether the vector held the gender.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from lessonkit.analysis.activations import (
    Activations,
    record_activations,
    transformer_of_translator,
)
from lessonkit.analysis.articles import (
    FrenchArticleCase,
    find_article_cases,
    predict_first_article,
    strip_punctuation,
)
from lessonkit.analysis.heads import Head, all_heads, attention_module
from lessonkit.analysis.interventions import patch_heads, patch_memory
from lessonkit.analysis.lexicon import Noun, french_nouns_by_english
from transformer.data.parallel import ParallelText
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.signatures import check_argument_types

NOUN_CLASSES_DENOTING_SEX = frozenset({"male", "female"})
ELIDING_LETTERS = "aeiouhéèêœ"  # before these, h perhaps, it is l'
EXCLUDED_GENDERED_PRONOUNS = {"he", "she", "him", "his", "her"}


class GenderPair(NamedTuple):
    """A sentence, and two in which its first noun is another, all with as many tokens."""

    subject: FrenchArticleCase  # the sentence, and where its noun stands
    other: str  # with a noun of the other French gender: *Le* for *La*, *La* for *Le*
    same: str  # the control: with another noun of the same gender


@check_argument_types
def gender_pairs(translator: Translator, text: ParallelText) -> list[GenderPair]:
    """Make minimal pairs of the sentences that begin with *The* and a noun.

    The new noun is the one most like the old in what it can be said of (the lexicon's classes;
    people stay people), then in its French spelling: *salesman* for *saleswoman*. Sentences
    with *he, she, him, his* or *her* tell the gender twice and are left out.
    """
    pairs = []
    for case in find_article_cases(translator, text):
        words = [strip_punctuation(word) for word in case.sentence.split()]
        if EXCLUDED_GENDERED_PRONOUNS & {word.lower() for word in words}:
            continue
        noun = french_nouns_by_english()[words[case.word]]
        other = _replace_noun(case, noun, _most_similar_noun(noun, same_gender=False))
        same = _replace_noun(case, noun, _most_similar_noun(noun, same_gender=True))
        lengths = [len(translator.src_tokenizer.encode(sentence)) for sentence in (other, same)]
        if lengths == [case.length - 1, case.length - 1]:
            pairs.append(GenderPair(case, other, same))
    return pairs


def _replace_noun(case: FrenchArticleCase, noun: Noun, replacement: Noun) -> str:
    """Return a sentence with another noun in the place of its first."""
    words = case.sentence.split()
    words[case.word] = words[case.word].replace(noun.en, replacement.en)
    return " ".join(words)


def _most_similar_noun(noun: Noun, same_gender: bool) -> Noun:
    """Return the noun most similar to another, of its French gender or of the other one."""
    is_person = not noun.classes.isdisjoint(NOUN_CLASSES_DENOTING_SEX)
    candidates = [
        candidate
        for candidate in french_nouns_by_english().values()
        if candidate is not noun
        and (candidate.gender == noun.gender) == same_gender
        and (not candidate.classes.isdisjoint(NOUN_CLASSES_DENOTING_SEX)) == is_person
        and candidate.fr[0] not in ELIDING_LETTERS
    ]

    def similarity(candidate: Noun) -> tuple[int, int]:
        common_classes = (candidate.classes & noun.classes) - NOUN_CLASSES_DENOTING_SEX
        return len(common_classes), _num_common_prefix_letters(candidate.fr, noun.fr)

    return max(candidates, key=similarity)


def _num_common_prefix_letters(first: str, second: str) -> int:
    """Return how many letters two words have in common at their beginning."""
    letters = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], letters))


class ChangedArticleCounts(NamedTuple):
    """How many articles follow the vectors that are patched in from other sentences."""

    seen: str  # what the decoder could see of the source
    put: str  # which vectors were patched in
    other: int  # articles that became the other one, with vectors of a noun of that gender
    same: int  # the control: those that did with vectors of a noun of the same gender
    of: int  # sentences


class _Patch(NamedTuple):
    """Which vectors are patched in, and what the decoder sees meanwhile."""

    label: str
    memory_at: str = "nowhere"  # where in the encoder's output
    heads: Sequence[Head] = ()  # whose outputs at The
    seen: str = "everything"  # what the decoder sees of the source


@check_argument_types
def count_patched_articles(
    translator: Translator, pairs: Sequence[GenderPair], carriers: Sequence[Head]
) -> list[ChangedArticleCounts]:
    """Count how often a vector of another sentence's run brings that sentence's article.

    Args:
        translator: A Transformer from English to French.
        pairs: From `gender_pairs`.
        carriers: Heads of the encoder said to carry the gender to *The*.

    Returns:
        With the whole source in the decoder's sight: the encoder's output patched at *The*, at the
        noun, and at the last word (a control). With all but the noun in sight: patched at *The*,
        and at all that is seen. With *The* alone in sight: the encoder's output patched there, then
        only the carriers' outputs, then those of the other heads.
    """
    patches = _patches_to_count(transformer_of_translator(translator), carriers)
    others_runs = [record_activations(translator, pair.other, []) for pair in pairs]
    same_runs = [record_activations(translator, pair.same, []) for pair in pairs]
    rows = []
    for patch in patches:
        other_count = same_count = 0
        for pair, other_run, same_run in zip(pairs, others_runs, same_runs, strict=True):
            if _is_article_changed_by_patch(translator, pair.subject, other_run, patch):
                other_count += 1
            if _is_article_changed_by_patch(translator, pair.subject, same_run, patch):
                same_count += 1
        rows.append(
            ChangedArticleCounts(patch.seen, patch.label, other_count, same_count, len(pairs))
        )
    return rows


def _patches_to_count(model: Transformer, carriers: Sequence[Head]) -> tuple[_Patch, ...]:
    """Return the patches of `count_patched_articles`, in its order.

    Raises:
        UserError: the model does not have one of the heads.
    """
    for carrier in carriers:
        attention_module(model, carrier)
    encoder_heads = [head for head in all_heads(model) if head.stack == "encoder"]
    others = [head for head in encoder_heads if head not in carriers]
    names = " and ".join(f"{head.layer}.{head.head}" for head in carriers)
    return (
        _Patch("the encoder's output at The", memory_at="The"),
        _Patch("the encoder's output at the noun", memory_at="the noun"),
        _Patch("control: at the last word", memory_at="the last word"),
        _Patch("the encoder's output at The", "The", seen="all but the noun"),
        _Patch("and at all that is seen", "all but the noun", seen="all but the noun"),
        _Patch("the encoder's output at The", "The", seen="The alone"),
        _Patch(f"heads {names} at The", heads=carriers, seen="The alone"),
        _Patch("control: the other heads at The", heads=others, seen="The alone"),
    )


def _is_article_changed_by_patch(
    translator: Translator, case: FrenchArticleCase, run: Activations, patch: _Patch
) -> bool:
    """Return whether the other article is the most probable with vectors of another run."""
    everything = set(range(case.length))
    positions_by_name: dict[str, set[int]] = {
        "nowhere": set(),
        "everything": everything,
        "all but the noun": everything.difference(case.noun),
        "The alone": {0},
        "The": {0},
        "the noun": set(case.noun),
        "the last word": set(case.last),
    }
    positions = positions_by_name[patch.memory_at]
    hidden = everything - positions_by_name[patch.seen]
    model = transformer_of_translator(translator)
    memory = {position: run.memory[position] for position in positions}
    outputs = {head: {0: run.heads[head][0]} for head in patch.heads}
    with patch_memory(model, memory), patch_heads(model, outputs):
        article = predict_first_article(translator, case, after=hidden)
    return article not in (None, case.article)
