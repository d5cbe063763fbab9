"""A translation with some places of the source hidden, by the search itself."""

from collections.abc import Collection

from lessonkit.analysis.interventions import Hiding, network_of, source_of
from transformer.decoding import greedy_search
from transformer.models.translator import Translator


def translate_hiding(
    translator: Translator,
    sentence: str,
    before: Collection[int] = (),
    after: Collection[int] = (),
) -> str:
    """Translate greedily; places are counted over the source's tokens and its "<eos>"."""
    hiding = Hiding(network_of(translator), before, after)
    (said,) = greedy_search(hiding, source_of(translator, sentence))
    return translator.tgt_tokenizer.decode(said.ids)
