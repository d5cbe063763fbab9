"""What the five earlier systems reported of themselves, to stand beside our runs of them.

Four public notebooks and a homework report of 2018 to 2021; their recipes, under the same
names, are in `transformer.recipes.earlier_systems`.
"""

from typing import NamedTuple

_TALKS = "IWSLT talks, German to English, at most 20 tokens, 10 epochs"


class Published(NamedTuple):
    """A system's own report.

    Attributes:
        figures: What was reached, as it was counted there.
        conditions: On which text, and for how long.
        bleu: The BLEU among the figures, if it is of a whole test set.
    """

    figures: str
    conditions: str
    bleu: float | None = None


PUBLISHED: dict[str, Published] = {
    "annotated": Published(
        "training loss 2.4 to 2.6; no BLEU",
        "IWSLT talks, German to English, 6,000 steps",
    ),
    "both-ways-fr-en": Published(
        "BLEU 0.2290, smoothed, of one sentence",
        "IWSLT talks, French to English, 3 epochs on a T4",
    ),
    "both-ways-en-fr": Published(
        "BLEU 0.0000; its loss never fell",
        "IWSLT talks, English to French, 3 epochs on a T4",
    ),
    "tatoeba": Published(
        "loss of a sentence 46.2 after round 2; no BLEU",
        "Tatoeba, French to English, 200 rounds, an hour of GPU",
    ),
    "multi30k": Published(
        "BLEU 35.53 (cell) or 36.52 (prose), validation perplexity 5.06",
        "Multi30k, German to English, 10 epochs, greedy, lower-cased tokens",
        36.52,
    ),
    "homework-seq2seq": Published("loss 3.23, perplexity 25.36, BLEU 6.32", _TALKS, 6.32),
    "homework-seq2seq-attention": Published(
        "loss 2.71, perplexity 15.05, BLEU 17.77", _TALKS, 17.77
    ),
    "homework-megatron": Published("loss 2.7, perplexity 15, BLEU 9.68", _TALKS, 9.68),
    "homework-soundwave": Published("loss 2.8, perplexity 16, BLEU 7.08", _TALKS, 7.08),
}
