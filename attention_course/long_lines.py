"""A warning of lines far longer than any that a model was trained on."""

import warnings
from collections.abc import Sequence

from transformer.models.translator import Translator

# A source of more tokens than this share of the longest one of training is far longer.
FAR_LONGER = 1.5
MAX_NAMED_LINES = 5


def warn_of_long_lines(
    translator: Translator, lines: Sequence[str], first_number: int, longest_source: int
) -> None:
    """Warn, once, of lines whose translation cannot be relied on; their numbers are from 1.

    What is too long for the model altogether is left to the warning that it is cut short.
    `longest_source` is the number of tokens of the longest source that the model was trained on.
    """
    max_len = translator.recipe.model.max_len
    lengths = {
        number: len(ids)
        for number, ids in enumerate(translator.src_tokenizer.encode_all(lines), first_number)
        if FAR_LONGER * longest_source < len(ids) < max_len
    }
    if not lengths:
        return
    long = list(lengths)
    named = ", ".join(map(str, long[:MAX_NAMED_LINES]))
    others = f" and {len(long) - MAX_NAMED_LINES:,} more" if len(long) > MAX_NAMED_LINES else ""
    most = max(lengths.values())
    plural, has = ("s", "have") if len(long) > 1 else ("", "has")
    warnings.warn(
        f"line{plural} {named}{others} {has} up to {most:,} tokens, and training none of over "
        f"{longest_source:,}: do not rely on what comes out; cut it into sentences",
        stacklevel=2,
    )
