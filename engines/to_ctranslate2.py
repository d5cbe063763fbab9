"""A Transformer for CTranslate2, an engine in C++ for CPUs and GPUs.

Not in the paper. The engine knows this network: it is told the sizes, and given every weight.
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

from engines.arrays import array, embedding_tables
from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, EOS_ID, PAD_ID, SPECIAL_TOKENS, UNK_ID
from transformer.embeddings import Embedding
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Decoder, Encoder, Transformer
from transformer.support.errors import UserError

LOWEST = np.finfo(np.float32).min  # added to the logits of what no sentence holds


def write_ctranslate2(
    model: Transformer, src_vocabulary: list[str], tgt_vocabulary: list[str], folder: Path
) -> None:
    """Write model.bin, config.json and the vocabularies, the names of all ids.

    The model is in evaluation mode, on the CPU. Keys and values of two widths are a UserError.
    """
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
        bias += array(model.output.bias)
    bias[[PAD_ID, BOS_ID]] = LOWEST
    decoder.projection.weight, decoder.projection.bias = array(model.output.weight), bias
    spec = TransformerSpec(encoder, decoder)
    spec.register_source_vocabulary(src_vocabulary)
    spec.register_target_vocabulary(tgt_vocabulary)
    spec.config.unk_token = SPECIAL_TOKENS[UNK_ID]
    spec.config.bos_token = spec.config.decoder_start_token = SPECIAL_TOKENS[BOS_ID]
    spec.config.eos_token = SPECIAL_TOKENS[EOS_ID]
    spec.validate()
    spec.optimize()
    spec.save(str(folder))


def _set_stack(
    spec: TransformerEncoderSpec | TransformerDecoderSpec, stack: Encoder | Decoder
) -> None:
    """Give a stack its layers; a post-norm one has nothing to do at its end."""
    for target, layer in zip(spec.layer, stack.layers, strict=True):
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        mine = layer.self_attention
        joined = mine.query_projection, mine.key_projection, mine.value_projection
        _set_attention(target.self_attention, mine, joined)
        _set_norm(target.self_attention.layer_norm, layer.self_attention_residual.norm)
        if isinstance(layer, DecoderLayer):
            cross = layer.cross_attention
            origin = cross.key_projection, cross.value_projection
            _set_attention(target.attention, cross, (cross.query_projection,), origin)
            _set_norm(target.attention.layer_norm, layer.cross_attention_residual.norm)
        _set_linear(target.ffn.linear_0, layer.feed_forward.inner)
        _set_linear(target.ffn.linear_1, layer.feed_forward.outer)
        _set_norm(target.ffn.layer_norm, layer.feed_forward_residual.norm)
    if isinstance(stack.norm, nn.LayerNorm):
        _set_norm(spec.layer_norm, stack.norm)


def _set_embedding(
    spec: TransformerEncoderSpec | TransformerDecoderSpec,
    words: EmbeddingsSpec,
    embedding: Embedding,
) -> None:
    """Give a side its words and positions; the engine scales by sqrt(d_model) or not at all."""
    words.weight, spec.position_encodings.encodings = map(array, embedding_tables(embedding))
    spec.scale_embeddings = not embedding.concatenated
    if embedding.concatenated:
        words.weight = words.weight * np.float32(embedding.scale)


def _set_attention(
    spec: MultiHeadAttentionSpec, attention: MultiHeadAttention, *inputs: tuple[nn.Linear, ...]
) -> None:
    """Give the projections as the engine has them: those of one input are one matrix."""
    for linear, maps in zip(spec.linear, (*inputs, (attention.output_projection,)), strict=True):
        _set_linear(linear, *maps)


def _set_linear(spec: LinearSpec, *maps: nn.Linear) -> None:
    """Give the weights of linear maps of one input, one below the other."""
    spec.weight = np.concatenate([array(each.weight) for each in maps])
    if maps[0].bias is not None:
        spec.bias = np.concatenate([array(each.bias) for each in maps])


def _set_norm(spec: LayerNormSpec, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = array(norm.weight), array(norm.bias)
