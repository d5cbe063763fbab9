"""An exercise of lesson 13: the floating-point operations of a training step."""

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("13")


def my_flops(
    d_model: int, d_ff: int, num_layers: int, vocab_size: int, src_tokens: int, tgt_tokens: int
) -> int:
    """Count the operations of a training step in products with weights."""
    # Four squares of its own, and two of cross-attention on either side.
    each_token = 6 * d_model**2 + 2 * d_model * d_ff
    layers = num_layers * (src_tokens + tgt_tokens) * each_token
    return 6 * (layers + tgt_tokens * d_model * vocab_size)


def forward_alone(
    d_model: int, d_ff: int, num_layers: int, vocab_size: int, src_tokens: int, tgt_tokens: int
) -> int:
    """Leave the backward pass out."""
    sizes = d_model, d_ff, num_layers, vocab_size, src_tokens, tgt_tokens
    return my_flops(*sizes) // 3


def backward_as_forward(
    d_model: int, d_ff: int, num_layers: int, vocab_size: int, src_tokens: int, tgt_tokens: int
) -> int:
    """Take the backward pass to be as large as the forward pass."""
    sizes = d_model, d_ff, num_layers, vocab_size, src_tokens, tgt_tokens
    return my_flops(*sizes) // 3 * 2


def multiplications_alone(
    d_model: int, d_ff: int, num_layers: int, vocab_size: int, src_tokens: int, tgt_tokens: int
) -> int:
    """Count no additions."""
    sizes = d_model, d_ff, num_layers, vocab_size, src_tokens, tgt_tokens
    return my_flops(*sizes) // 2


def no_output(
    d_model: int, d_ff: int, num_layers: int, vocab_size: int, src_tokens: int, tgt_tokens: int
) -> int:
    """Forget the logits."""
    sizes = d_model, d_ff, num_layers, vocab_size, src_tokens, tgt_tokens
    return my_flops(*sizes) - 6 * tgt_tokens * d_model * vocab_size


def embedding_too(
    d_model: int, d_ff: int, num_layers: int, vocab_size: int, src_tokens: int, tgt_tokens: int
) -> int:
    """Count the look-up of an embedding as a product with the whole table."""
    sizes = d_model, d_ff, num_layers, vocab_size, src_tokens, tgt_tokens
    return my_flops(*sizes) + 6 * (src_tokens + tgt_tokens) * d_model * vocab_size


def one_attention(
    d_model: int, d_ff: int, num_layers: int, vocab_size: int, src_tokens: int, tgt_tokens: int
) -> int:
    """Give the decoder self-attention alone."""
    sizes = d_model, d_ff, num_layers, vocab_size, src_tokens, tgt_tokens
    cross = num_layers * 2 * d_model**2 * (src_tokens + tgt_tokens)
    return my_flops(*sizes) - 6 * cross


def all_from_the_target(
    d_model: int, d_ff: int, num_layers: int, vocab_size: int, src_tokens: int, tgt_tokens: int
) -> int:
    """Make cross-attention's keys and values from the target."""
    sizes = d_model, d_ff, num_layers, vocab_size, src_tokens, tgt_tokens
    moved = num_layers * 2 * d_model**2 * (tgt_tokens - src_tokens)
    return my_flops(*sizes) + 6 * moved


def _by_matrix(
    d_model: int, d_ff: int, num_layers: int, vocab_size: int, src_tokens: int, tgt_tokens: int
) -> int:
    """The same, matrix by matrix, product by product."""
    square, narrow, wide = (d_model, d_model), (d_model, d_ff), (d_ff, d_model)
    encoder = [square] * 4 + [narrow, wide]
    met = [(matrix, src_tokens) for matrix in encoder]
    met += [(matrix, tgt_tokens) for matrix in (*encoder, square, square)]
    met += [(square, src_tokens)] * 2
    met = met * num_layers + [((d_model, vocab_size), tgt_tokens)]
    passes = "forward", "gradient of the input", "gradient of the weights"
    return sum(2 * rows * columns * tokens for (rows, columns), tokens in met for _ in passes)


flops = Exercise(
    my_flops,
    words,
    worked=[
        ((1, 1, 1, 1, 1, 1), 6 * (6 + 2 + 6 + 2 + 1)),
        ((2, 3, 1, 5, 0, 1), 6 * (24 + 12 + 10)),  # no source: target's matrices, then logits
    ],
    cases=[
        (2, 3, 1, 5, 1, 0),
        (2, 3, 1, 5, 7, 3),
        (3, 2, 2, 11, 5, 13),
        (128, 256, 4, 10_000, 512, 480),
        (512, 2048, 6, 37_000, 25_000, 25_000),
    ],
    expected=_by_matrix,
    wrong={
        "forward_alone": forward_alone,
        "backward_as_forward": backward_as_forward,
        "multiplications_alone": multiplications_alone,
        "no_output": no_output,
        "embedding_too": embedding_too,
        "one_attention": one_attention,
        "all_from_the_target": all_from_the_target,
    },
)
