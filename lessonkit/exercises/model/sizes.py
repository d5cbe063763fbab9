"""An exercise of lesson 04: parameters counted, from the whole to the vocabulary."""

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from transformer.config import ModelConfig
from transformer.model import expected_parameters

words = read_words("04")


def my_vocabulary(parameters: int, d_model: int, d_ff: int, num_layers: int) -> int:
    """Find how many types a tied model has, from its number of parameters."""
    attention = 4 * d_model * d_model
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    stacks = num_layers * (encoder_layer + decoder_layer)
    return (parameters - stacks) // d_model


def three_matrices(parameters: int, d_model: int, d_ff: int, num_layers: int) -> int:
    """Divide among three matrices, as if nothing were tied."""
    return my_vocabulary(parameters, d_model, d_ff, num_layers) // 3


def one_stack(parameters: int, d_model: int, d_ff: int, num_layers: int) -> int:
    """Forget the encoder."""
    encoder_layer = 4 * d_model**2 + 2 * d_model * d_ff + d_ff + 5 * d_model
    return my_vocabulary(parameters + num_layers * encoder_layer, d_model, d_ff, num_layers)


def one_layer_each(parameters: int, d_model: int, d_ff: int, num_layers: int) -> int:
    """Forget that there are several layers."""
    return my_vocabulary(parameters, d_model, d_ff, 1)


def not_divided(parameters: int, d_model: int, d_ff: int, num_layers: int) -> int:
    """Give the parameters of the embedding, not its rows."""
    return my_vocabulary(parameters, d_model, d_ff, num_layers) * d_model


def biases_in_attention(parameters: int, d_model: int, d_ff: int, num_layers: int) -> int:
    """Give the projections of attention a bias each."""
    return my_vocabulary(parameters - num_layers * 12 * d_model, d_model, d_ff, num_layers)


def three_projections(parameters: int, d_model: int, d_ff: int, num_layers: int) -> int:
    """Forget the projection that joins the heads."""
    return my_vocabulary(parameters + num_layers * 3 * d_model**2, d_model, d_ff, num_layers)


def no_norms(parameters: int, d_model: int, d_ff: int, num_layers: int) -> int:
    """Forget that normalisation learns a gain and a bias."""
    return my_vocabulary(parameters + num_layers * 10 * d_model, d_model, d_ff, num_layers)


def _searched(parameters: int, d_model: int, d_ff: int, num_layers: int) -> int:
    """Try vocabularies until the count fits."""
    config = ModelConfig(d_model=d_model, d_ff=d_ff, num_layers=num_layers, num_heads=1)
    low, high = 1, parameters
    while low < high:
        middle = (low + high + 1) // 2
        fits = expected_parameters(config, middle, middle) <= parameters
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _models() -> list[tuple[int, int, int, int]]:
    cases = []
    for d_model, d_ff, num_layers, types in (
        (2, 3, 2, 7),
        (2, 5, 3, 11),
        (4, 2, 2, 13),
        (6, 7, 3, 101),
        (512, 2048, 6, 37_000),
    ):
        shape = ModelConfig(d_model=d_model, d_ff=d_ff, num_layers=num_layers, num_heads=1)
        cases.append((expected_parameters(shape, types, types), d_model, d_ff, num_layers))
    return cases


vocabulary = Exercise(
    my_vocabulary,
    words,
    worked=[((63_045_632, 512, 2048, 6), 37_000)],
    cases=_models(),
    expected=_searched,
    wrong={
        "three_matrices": three_matrices,
        "one_stack": one_stack,
        "one_layer_each": one_layer_each,
        "biases_in_attention": biases_in_attention,
        "three_projections": three_projections,
        "no_norms": no_norms,
        "not_divided": not_divided,
    },
    properties={
        "a vocabulary is a whole number": lambda value, *sizes: value == int(value),
    },
)
