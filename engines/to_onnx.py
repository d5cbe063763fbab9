"""A Transformer as two ONNX graphs: one reads the source, one makes a step of decoding.

Not in the paper.

    encoder.onnx    src -> src_mask, memory_keys, memory_values
    decoder.onnx    token, src_mask, memory_keys, memory_values, past_keys, past_values
                    -> log_probs, keys, values

Decoding is cached: the keys and values of every layer go in and come out longer by a position,
and those of the source are computed once. Layers stand along the first axis, so that one index
picks rows of the batch in all of them.
"""

from functools import partial
from pathlib import Path

import numpy as np

from engines.onnx_graph import BOOL, FLOAT, INT64, ElementTypeAndShape, OnnxGraphBuilder
from engines.tables import check_paper_parts
from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, PAD_ID
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Transformer


def write_onnx_graphs(model: Transformer, folder: Path) -> None:
    """Write encoder.onnx and decoder.onnx of a model in evaluation mode, on the CPU."""
    check_paper_parts(model)
    mask: ElementTypeAndShape = (BOOL, ("batch", 1, 1, "src_len"))
    source = {"src_mask": mask} | _keys_and_values_types(model, "memory_", "src_len")
    _write_encoder_graph(model, folder / "encoder.onnx", source)
    _write_decoder_step_graph(model, folder / "decoder.onnx", source)


def _keys_and_values_types(
    model: Transformer, prefix: str, length: str
) -> dict[str, ElementTypeAndShape]:
    """Return the types of the keys and values of every layer."""
    config = model.config
    rows = (config.num_layers, "batch", config.num_heads, length)
    return {
        f"{prefix}keys": (FLOAT, (*rows, config.key_size)),
        f"{prefix}values": (FLOAT, (*rows, config.value_size)),
    }


def _write_encoder_graph(
    model: Transformer, path: Path, source: dict[str, ElementTypeAndShape]
) -> None:
    """Write the encoder, and the decoder's projections of its output."""
    graph = OnnxGraphBuilder(model)
    is_padding = graph.add_node("Equal", "src", graph.add_constant("pad", np.int64(PAD_ID)))
    may_attend = graph.add_node("Not", is_padding)
    graph.add_node("Unsqueeze", may_attend, graph.add_int_vector(1, 2), output="src_mask")
    length = graph.add_node("Shape", "src", start=1, end=2)
    hidden = graph.add_embedding(model.src_embedding, "src", graph.add_int_vector(0), length)

    def attend(attention: MultiHeadAttention, query: str) -> str:
        keys, values = graph.add_keys_and_values(attention, query)
        return graph.add_attention(attention, query, keys, values, "src_mask")

    for layer in model.encoder.layers:
        assert isinstance(layer, EncoderLayer)
        sublayer = partial(attend, layer.self_attention)
        hidden = graph.add_residual(layer.self_attention_residual, hidden, sublayer)
        sublayer = partial(graph.add_feed_forward, layer.feed_forward)
        hidden = graph.add_residual(layer.feed_forward_residual, hidden, sublayer)
    memory = graph.add_norm(model.encoder.norm, hidden)
    all_keys, all_values = [], []
    for decoder_layer in _decoder_layers_of_model(model):
        keys, values = graph.add_keys_and_values(decoder_layer.cross_attention, memory)
        all_keys.append(keys)
        all_values.append(values)
    graph.add_stacking_over_layers(all_keys, "memory_keys")
    graph.add_stacking_over_layers(all_values, "memory_values")
    graph.check_and_write(path, {"src": (INT64, ("batch", "src_len"))}, source)


def _write_decoder_step_graph(
    model: Transformer, path: Path, source: dict[str, ElementTypeAndShape]
) -> None:
    """Write one step of the decoder, for one new token a sentence."""
    graph = OnnxGraphBuilder(model)
    past_len = graph.add_node("Shape", "past_keys", start=3, end=4)
    end = graph.add_node("Add", past_len, graph.add_int_vector(1))
    hidden = graph.add_embedding(model.tgt_embedding, "token", past_len, end)  # (batch, 1, d_model)
    all_keys: list[str] = []
    all_values: list[str] = []

    def attend_to_past(index: int, attention: MultiHeadAttention, query: str) -> str:
        past_keys = graph.add_layer_array_selection("past_keys", index)
        past_values = graph.add_layer_array_selection("past_values", index)
        new_keys, new_values = graph.add_keys_and_values(attention, query)
        all_keys.append(graph.add_node("Concat", past_keys, new_keys, axis=2))
        all_values.append(graph.add_node("Concat", past_values, new_values, axis=2))
        return graph.add_attention(attention, query, all_keys[index], all_values[index])

    def attend_to_source(index: int, attention: MultiHeadAttention, query: str) -> str:
        keys = graph.add_layer_array_selection("memory_keys", index)
        values = graph.add_layer_array_selection("memory_values", index)
        return graph.add_attention(attention, query, keys, values, "src_mask")

    for index, layer in enumerate(_decoder_layers_of_model(model)):
        sublayer = partial(attend_to_past, index, layer.self_attention)
        hidden = graph.add_residual(layer.self_attention_residual, hidden, sublayer)
        sublayer = partial(attend_to_source, index, layer.cross_attention)
        hidden = graph.add_residual(layer.cross_attention_residual, hidden, sublayer)
        sublayer = partial(graph.add_feed_forward, layer.feed_forward)
        hidden = graph.add_residual(layer.feed_forward_residual, hidden, sublayer)
    _add_log_probs(graph, model, graph.add_norm(model.decoder.norm, hidden))
    graph.add_stacking_over_layers(all_keys, "keys")
    graph.add_stacking_over_layers(all_values, "values")
    token: ElementTypeAndShape = (INT64, ("batch", 1))
    log_probs: ElementTypeAndShape = (FLOAT, ("batch", model.output.out_features))
    inputs = {"token": token} | source | _keys_and_values_types(model, "past_", "past_len")
    outputs = {"log_probs": log_probs} | _keys_and_values_types(model, "", "tgt_len")
    graph.check_and_write(path, inputs, outputs)


def _decoder_layers_of_model(model: Transformer) -> list[DecoderLayer]:
    return [layer for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]


def _add_log_probs(graph: OnnxGraphBuilder, model: Transformer, hidden: str) -> None:
    """Add the log probabilities of the next token; padding and bos have none, in any sentence."""
    logits = graph.add_node(
        "Squeeze", graph.add_linear(model.output, hidden), graph.add_int_vector(1)
    )
    log_probs = graph.add_node("LogSoftmax", logits, axis=-1)
    forbidden = np.zeros(model.output.out_features, np.float32)
    forbidden[[PAD_ID, BOS_ID]] = -np.inf
    graph.add_node("Add", log_probs, graph.add_constant("forbidden", forbidden), output="log_probs")
