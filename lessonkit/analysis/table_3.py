"""The paper's own figures that the lessons compare with: Table 3, the variations of the model."""

from collections.abc import Mapping
from dataclasses import dataclass

from transformer.config import ModelConfig, PositionKind
from transformer.support.signatures import check_argument_types

SHARED_VOCAB_SIZE = 37_000  # §5.1: about so many, shared by English and German


@dataclass(frozen=True)
class Table3Row:
    """One row of Table 3: the base model with some settings changed."""

    name: str  # its group in the table and what is changed, "A: h = 1"
    changes: Mapping[str, object]  # fields of `ModelConfig` that differ from the base model's
    perplexity: float  # on newstest2013, per word piece
    bleu: float  # on newstest2013, points of 0 to 100
    millions: int | None = None  # parameters; None where the column is empty: as the base model's
    label_smoothing: float = 0.1  # in training

    def config(self) -> ModelConfig:
        """Return the configuration of this row; its weights are tied as §3.4 says."""
        return ModelConfig(**dict(self.changes))  # type: ignore[arg-type]


TABLE_3: tuple[Table3Row, ...] = (
    Table3Row("base", {}, 4.92, 25.8, 65),
    Table3Row("A: h = 1", {"num_heads": 1, "d_k": 512, "d_v": 512}, 5.29, 24.9),
    Table3Row("A: h = 4", {"num_heads": 4, "d_k": 128, "d_v": 128}, 5.00, 25.5),
    Table3Row("A: h = 16", {"num_heads": 16, "d_k": 32, "d_v": 32}, 4.91, 25.8),
    Table3Row("A: h = 32", {"num_heads": 32, "d_k": 16, "d_v": 16}, 5.01, 25.4),
    Table3Row("B: d_k = 16", {"d_k": 16, "d_v": 64}, 5.16, 25.1, 58),
    Table3Row("B: d_k = 32", {"d_k": 32, "d_v": 64}, 5.01, 25.4, 60),
    Table3Row("C: N = 2", {"num_layers": 2}, 6.11, 23.7, 36),
    Table3Row("C: N = 4", {"num_layers": 4}, 5.19, 25.3, 50),
    Table3Row("C: N = 8", {"num_layers": 8}, 4.88, 25.5, 80),
    Table3Row("C: d_model = 256", {"d_model": 256, "d_k": 32, "d_v": 32}, 5.75, 24.5, 28),
    Table3Row("C: d_model = 1024", {"d_model": 1024, "d_k": 128, "d_v": 128}, 4.66, 26.0, 168),
    Table3Row("C: d_ff = 1024", {"d_ff": 1024}, 5.12, 25.4, 53),
    Table3Row("C: d_ff = 4096", {"d_ff": 4096}, 4.75, 26.2, 90),
    Table3Row("D: P_drop = 0.0", {"dropout": 0.0}, 5.77, 24.6),
    Table3Row("D: P_drop = 0.2", {"dropout": 0.2}, 4.95, 25.5),
    Table3Row("D: eps_ls = 0.0", {}, 4.67, 25.3, label_smoothing=0.0),
    Table3Row("D: eps_ls = 0.2", {}, 5.47, 25.7, label_smoothing=0.2),
    Table3Row("E: positions = learned", {"positions": "learned"}, 4.92, 25.7),
    Table3Row(
        "big", {"d_model": 1024, "d_ff": 4096, "num_heads": 16, "dropout": 0.3}, 4.33, 26.4, 213
    ),
)


@check_argument_types
def expected_num_parameters(config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int) -> int:
    """Compute a Transformer's number of parameters without making it (Table 3, last column)."""
    d_model, d_ff, heads = config.d_model, config.d_ff, config.num_heads
    projected = heads * (2 * config.key_size + config.value_size)  # queries, keys, values
    attention = d_model * (projected + heads * config.value_size)
    if config.attention_bias:
        attention += projected + d_model
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    total = config.num_layers * (encoder_layer + decoder_layer)
    if config.pre_norm:
        total += 2 * norm
    total += _num_embedding_parameters(config, src_vocab_size, tgt_vocab_size)
    if not config.tie_softmax:
        total += tgt_vocab_size * d_model
    if config.output_bias:
        total += tgt_vocab_size
    return total


def _num_embedding_parameters(config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int) -> int:
    """Compute the parameters of both embeddings, with their positions if these are learned."""
    token_width = position_width = config.d_model
    if config.positions == PositionKind.CONCATENATED:
        token_width = config.d_model - config.position_dim
        position_width = config.position_dim
    types = src_vocab_size if config.tie_source_target else src_vocab_size + tgt_vocab_size
    parameters = types * token_width
    if config.positions != PositionKind.SINUSOIDAL:
        tables = 1 if config.tie_source_target else 2
        parameters += tables * config.max_len * position_width
    return parameters
