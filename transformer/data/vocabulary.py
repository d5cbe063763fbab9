"""What both kinds of tokenizer know about ids."""

from collections.abc import Iterable

from transformer.config import SPECIAL_TOKENS
from transformer.errors import UserError

FIRST_ID = len(SPECIAL_TOKENS)  # of the types that stand for text


def check_ids(ids: Iterable[int], vocab_size: int) -> list[int]:
    """Give the ids as a list, if each has a type.

    Raises:
        UserError: an id is below 0, or not below `vocab_size`.
    """
    checked = list(ids)
    for number in checked:
        if not 0 <= number < vocab_size:
            raise UserError(
                f"id {number} is outside this vocabulary of {vocab_size} types (0 to "
                f"{vocab_size - 1}): use the tokenizer that the model was trained with"
            )
    return checked
