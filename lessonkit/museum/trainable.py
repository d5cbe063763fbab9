"""Faults that whole models are trained with: shapes stay, and the loss falls (not in the paper).

The first four kept the homework's Transformers (system 5) behind. Lessons and experiments train
models with them and measure what each costs. A fault of `faults.toml` that has a label is one.
"""

from collections.abc import Callable

from lessonkit.museum import FAULTS
from lessonkit.museum.fault import apply_edits_to_model
from transformer.attention import MultiHeadAttention
from transformer.model import Transformer
from transformer.models.folder import ModelDescription, Network
from transformer.support.errors import UserError, unknown_name_error
from transformer.support.signatures import check_argument_types

TRAINABLE_FAULTS = {fault.label: fault for fault in FAULTS if fault.label}


def add_faults_to_model(model: Transformer, *labels: str) -> None:
    """Put some of `TRAINABLE_FAULTS` into a model, all at once; its weights stay as they are."""
    faults = {TRAINABLE_FAULTS[label].name: TRAINABLE_FAULTS[label] for label in labels}
    # This one shares modules, which no edit of a method can do in a finished model.
    if faults.pop("one_projection", None):
        for module in model.modules():
            if isinstance(module, MultiHeadAttention):
                module.key_projection = module.value_projection = module.query_projection
    # A decoder whose attention returns its own input has lost its self-attention already.
    if "own_value" in faults:
        faults.pop("self_attention_lost", None)
    edits = tuple(edit for fault in faults.values() for edit in fault.edits)
    if edits:
        apply_edits_to_model(model, "_and_".join(faults), edits)


@check_argument_types
def builder_with_faults(*labels: str) -> Callable[[ModelDescription], Network]:
    """Return what builds a recipe's network with some of `TRAINABLE_FAULTS`, from the same seed.

    It is passed as `build` to `train_recipe` and `Translator.load`.

    Raises:
        UserError: there is no such fault; the builder raises one for a network of another kind.
    """
    for label in labels:
        if label not in TRAINABLE_FAULTS:
            raise unknown_name_error("fault", label, TRAINABLE_FAULTS)

    def build(description: ModelDescription) -> Network:
        model = description.build()
        if labels:
            if not isinstance(model, Transformer):
                raise UserError(f"{description.recipe.name!r} is no Transformer: no such faults")
            add_faults_to_model(model, *labels)
        return model

    return build
