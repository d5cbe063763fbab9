"""Faults to switch on in a whole model: what kept the homework's Transformers (system 5) behind.

Not in the paper. Lessons and experiments measure what each of them costs. They are specimens of
`lessonkit.museum`; none changes a shape, none stops the loss from falling.
"""

from collections.abc import Callable

from lessonkit.museum.attention import (
    lose_self_attention,
    return_own_value,
    share_projection,
)
from lessonkit.museum.masks import attend_to_padding
from transformer.model import Transformer
from transformer.models.folder import Description, Network
from transformer.support.errors import UserError, unknown_name

FAULTS: dict[str, Callable[[Transformer], None]] = {
    "self-attention returns its own input": return_own_value,
    "the decoder's self-attention is lost": lose_self_attention,
    "one projection for queries, keys and values": share_projection,
    "padding is attended to": attend_to_padding,
}


def build_with(*names: str) -> Callable[[Description], Network]:
    """Give what makes a recipe's network with these faults, from the same random numbers.

    Args:
        names: Of `FAULTS`.

    Returns:
        A function to be given as `build` to `train_recipe` and `Translator.load`.

    Raises:
        UserError: there is no such fault; or, when called, the network is no Transformer.
    """
    for name in names:
        if name not in FAULTS:
            raise unknown_name("fault", name, FAULTS)

    def build(description: Description) -> Network:
        model = description.build()
        for name in names:
            if not isinstance(model, Transformer):
                raise UserError(f"{description.recipe.name!r} is no Transformer: no such faults")
            FAULTS[name](model)
        return model

    return build
