"""Faults to switch on in a whole model: what kept the homework's Transformers (system 5) behind.

Not in the paper. Lessons and experiments measure what each of them costs. They are faults of
`lessonkit.museum`; none changes a shape, none stops the loss from falling.
"""

from collections.abc import Callable

from lessonkit.museum import FAULTS
from lessonkit.museum.fault import apply_edits
from transformer.attention import MultiHeadAttention
from transformer.model import Transformer
from transformer.models.folder import Description, Network
from transformer.support.errors import UserError, unknown_name

ONE_PROJECTION = "one projection for queries, keys and values"
HOMEWORK_FAULTS = {  # the fault that each is
    "self-attention returns its own input": "own_value",
    "the decoder's self-attention is lost": "self_attention_lost",
    ONE_PROJECTION: "one_projection",
    "padding is attended to": "padding_attended",
}


def add_faults(model: Transformer, *names: str) -> None:
    """Put some of `HOMEWORK_FAULTS` into a model, all at once; its weights stay as they are."""
    if ONE_PROJECTION in names:
        for module in model.modules():
            if isinstance(module, MultiHeadAttention):
                module.key_projection = module.value_projection = module.query_projection
    chosen = [HOMEWORK_FAULTS[name] for name in names if name != ONE_PROJECTION]
    if "own_value" in chosen:  # it is the decoder's fault too, and a part has one: as recorded
        chosen = [name for name in chosen if name != "self_attention_lost"]
    edits = tuple(edit for each in FAULTS if each.name in chosen for edit in each.edits)
    if edits:
        apply_edits(model, "_and_".join(chosen), edits)


def builder_with_faults(*names: str) -> Callable[[Description], Network]:
    """Return what builds a recipe's network with some of `HOMEWORK_FAULTS`, from the same seed.

    It is given as `build` to `train_recipe` and `Translator.load`.
    """
    for name in names:
        if name not in HOMEWORK_FAULTS:
            raise unknown_name("fault", name, HOMEWORK_FAULTS)

    def build(description: Description) -> Network:
        model = description.build()
        if names:
            if not isinstance(model, Transformer):
                raise UserError(f"{description.recipe.name!r} is no Transformer: no such faults")
            add_faults(model, *names)
        return model

    return build
