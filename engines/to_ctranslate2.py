"""A Transformer for CTranslate2, an engine in C++ for CPUs and GPUs.

Not in the paper. The engine knows this network: it needs the sizes, and every weight.
"""

from pathlib import Path

import numpy as np
from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
from ctranslate2.specs.common_spec import EmbeddingsSpec, LayerNormSpec, LinearSpec
from ctranslate2.specs.transformer_spec import (
    TransformerDecoderSpec,
    TransformerEncoderSpec,
    TransformerSpec,
)
from torch import nn

from engines.tables import check_paper_parts, to_float32_array, unscaled_word_and_position_tables
from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, EOS_ID, PAD_ID, SPECIAL_TOKENS, UNK_ID
from transformer.embeddings import Embedding
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Decoder, Encoder, Transformer
from transformer.positions import ConcatenatedPositions
from transformer.support.errors import UserError

FORBIDDEN_TOKEN_BIAS = np.finfo(
    np.float32
).min  # the bias of padding and bos, which no sentence holds


def write_ctranslate2_model(
    model: Transformer, src_vocabulary: list[str], tgt_vocabulary: list[str], folder: Path
) -> None:
    """Write model.bin, config.json and the two vocabularies, the name of each id.

    The model is in evaluation mode, on the CPU. Unequal widths of keys and values are a UserError.
    """
    check_paper_parts(model)
    config = model.config
    if config.key_size != config.value_size:
        raise UserError(
            f"d_k is {config.key_size} and d_v {config.value_size}, and CTranslate2 has one width "
            "for both: export it --to onnx"
        )
    sizes = config.num_layers, config.num_heads, config.pre_norm
    encoder = TransformerEncoderSpec(*sizes, head_dim=config.key_size)
    decoder = TransformerDecoderSpec(*sizes, head_dim=config.key_size)
    _set_embedding(encoder, encoder.embeddings[0], model.src_embedding)
    _set_embedding(decoder, decoder.embeddings, model.tgt_embedding)
    _set_stack(encoder, model.encoder)
    _set_stack(decoder, model.decoder)
    bias = np.zeros(model.output.out_features, np.float32)
    if model.output.bias is not None:
        bias += to_float32_array(model.output.bias)
    bias[[PAD_ID, BOS_ID]] = FORBIDDEN_TOKEN_BIAS
    decoder.projection.weight = to_float32_array(model.output.weight)
    decoder.projection.bias = bias
    spec = TransformerSpec(encoder, decoder)
    spec.register_source_vocabulary(src_vocabulary)
    spec.register_target_vocabulary(tgt_vocabulary)
    spec.config.unk_token = SPECIAL_TOKENS[UNK_ID]
    spec.config.bos_token = SPECIAL_TOKENS[BOS_ID]
    spec.config.decoder_start_token = SPECIAL_TOKENS[BOS_ID]
    spec.config.eos_token = SPECIAL_TOKENS[EOS_ID]
    spec.validate()
    spec.optimize()
    spec.save(str(folder))


def _set_stack(
    spec: TransformerEncoderSpec | TransformerDecoderSpec, stack: Encoder | Decoder
) -> None:
    """Set the layers of a stack, and the norm at its end, which a post-norm one lacks."""
    for layer_spec, layer in zip(spec.layer, stack.layers, strict=True):
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        _set_self_attention(layer_spec.self_attention, layer.self_attention)
        _set_norm(layer_spec.self_attention.layer_norm, layer.self_attention_residual.norm)
        if isinstance(layer, DecoderLayer):
            _set_cross_attention(layer_spec.attention, layer.cross_attention)
            _set_norm(layer_spec.attention.layer_norm, layer.cross_attention_residual.norm)
        _set_linear(layer_spec.ffn.linear_0, layer.feed_forward.inner)
        _set_linear(layer_spec.ffn.linear_1, layer.feed_forward.outer)
        _set_norm(layer_spec.ffn.layer_norm, layer.feed_forward_residual.norm)
    if isinstance(stack.norm, nn.LayerNorm):
        _set_norm(spec.layer_norm, stack.norm)


def _set_embedding(
    spec: TransformerEncoderSpec | TransformerDecoderSpec,
    embedding_spec: EmbeddingsSpec,
    embedding: Embedding,
) -> None:
    """Set the words and positions of a side; the engine scales by sqrt(d_model) or not at all."""
    words, positions = unscaled_word_and_position_tables(embedding)
    embedding_spec.weight = to_float32_array(words)
    spec.position_encodings.encodings = to_float32_array(positions)
    concatenated = isinstance(embedding.positions, ConcatenatedPositions)
    spec.scale_embeddings = not concatenated
    if concatenated:
        embedding_spec.weight = embedding_spec.weight * np.float32(embedding.scale)


def _set_self_attention(spec: MultiHeadAttentionSpec, attention: MultiHeadAttention) -> None:
    """Set the projections: queries, keys and values have one input, and so one matrix."""
    _set_linear(
        spec.linear[0],
        attention.query_projection,
        attention.key_projection,
        attention.value_projection,
    )
    _set_linear(spec.linear[1], attention.output_projection)


def _set_cross_attention(spec: MultiHeadAttentionSpec, attention: MultiHeadAttention) -> None:
    """Set the projections: keys and values have one input, and so one matrix."""
    _set_linear(spec.linear[0], attention.query_projection)
    _set_linear(spec.linear[1], attention.key_projection, attention.value_projection)
    _set_linear(spec.linear[2], attention.output_projection)


def _set_linear(spec: LinearSpec, *layers: nn.Linear) -> None:
    """Set the weights of linear layers of one input, one below the other."""
    spec.weight = np.concatenate([to_float32_array(layer.weight) for layer in layers])
    if layers[0].bias is not None:
        spec.bias = np.concatenate([to_float32_array(layer.bias) for layer in layers])


def _set_norm(spec: LayerNormSpec, norm: nn.Module) -> None:
    # Models with other norms are refused before this.
    assert isinstance(norm, nn.LayerNorm)
    spec.gamma = to_float32_array(norm.weight)
    spec.beta = to_float32_array(norm.bias)
