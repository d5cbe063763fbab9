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

from engines.onnx_graph import BOOL, FLOAT, INT64, Graph, ValueType
from engines.tables import check_paper_parts
from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, PAD_ID
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Transformer


def write_onnx(model: Transformer, folder: Path) -> None:
    """Write encoder.onnx and decoder.onnx of a model in evaluation mode, on the CPU."""
    check_paper_parts(model)
    mask: ValueType = (BOOL, ("batch", 1, 1, "src_len"))
    source = {"src_mask": mask} | _cache_types(model, "memory_", "src_len")
    _write_encoder(model, folder / "encoder.onnx", source)
    _write_decoder(model, folder / "decoder.onnx", source)


def _cache_types(model: Transformer, prefix: str, length: str) -> dict[str, ValueType]:
    """Return the types of the keys and values of every layer."""
    config = model.config
    rows = (config.num_layers, "batch", config.num_heads, length)
    return {
        f"{prefix}keys": (FLOAT, (*rows, config.key_size)),
        f"{prefix}values": (FLOAT, (*rows, config.value_size)),
    }


def _write_encoder(model: Transformer, path: Path, source: dict[str, ValueType]) -> None:
    """Write the encoder, and the decoder's projections of its output."""
    graph = Graph(model)
    is_padding = graph.add("Equal", "src", graph.constant("pad", np.int64(PAD_ID)))
    may_attend = graph.add("Not", is_padding)
    graph.add("Unsqueeze", may_attend, graph.ints(1, 2), output="src_mask")
    length = graph.add("Shape", "src", start=1, end=2)
    hidden = graph.embedding(model.src_embedding, "src", graph.ints(0), length)

    def attend(attention: MultiHeadAttention, query: str) -> str:
        keys, values = graph.keys_and_values(attention, query)
        return graph.attend(attention, query, keys, values, "src_mask")

    for layer in model.encoder.layers:
        assert isinstance(layer, EncoderLayer)
        sublayer = partial(attend, layer.self_attention)
        hidden = graph.residual(layer.self_attention_residual, hidden, sublayer)
        sublayer = partial(graph.feed_forward, layer.feed_forward)
        hidden = graph.residual(layer.feed_forward_residual, hidden, sublayer)
    memory = graph.norm(model.encoder.norm, hidden)
    all_keys, all_values = [], []
    for decoder_layer in _decoder_layers(model):
        keys, values = graph.keys_and_values(decoder_layer.cross_attention, memory)
        all_keys.append(keys)
        all_values.append(values)
    graph.stack(all_keys, "memory_keys")
    graph.stack(all_values, "memory_values")
    graph.write(path, {"src": (INT64, ("batch", "src_len"))}, source)


def _write_decoder(model: Transformer, path: Path, source: dict[str, ValueType]) -> None:
    """Write one step of the decoder, for one new token a sentence."""
    graph = Graph(model)
    past_len = graph.add("Shape", "past_keys", start=3, end=4)
    end = graph.add("Add", past_len, graph.ints(1))
    hidden = graph.embedding(model.tgt_embedding, "token", past_len, end)  # (batch, 1, d_model)
    all_keys: list[str] = []
    all_values: list[str] = []

    def attend_to_past(index: int, attention: MultiHeadAttention, query: str) -> str:
        past_keys = graph.select_layer("past_keys", index)
        past_values = graph.select_layer("past_values", index)
        new_keys, new_values = graph.keys_and_values(attention, query)
        all_keys.append(graph.add("Concat", past_keys, new_keys, axis=2))
        all_values.append(graph.add("Concat", past_values, new_values, axis=2))
        return graph.attend(attention, query, all_keys[index], all_values[index])

    def attend_to_source(index: int, attention: MultiHeadAttention, query: str) -> str:
        keys = graph.select_layer("memory_keys", index)
        values = graph.select_layer("memory_values", index)
        return graph.attend(attention, query, keys, values, "src_mask")

    for index, layer in enumerate(_decoder_layers(model)):
        sublayer = partial(attend_to_past, index, layer.self_attention)
        hidden = graph.residual(layer.self_attention_residual, hidden, sublayer)
        sublayer = partial(attend_to_source, index, layer.cross_attention)
        hidden = graph.residual(layer.cross_attention_residual, hidden, sublayer)
        sublayer = partial(graph.feed_forward, layer.feed_forward)
        hidden = graph.residual(layer.feed_forward_residual, hidden, sublayer)
    _add_log_probs(graph, model, graph.norm(model.decoder.norm, hidden))
    graph.stack(all_keys, "keys")
    graph.stack(all_values, "values")
    token: ValueType = (INT64, ("batch", 1))
    log_probs: ValueType = (FLOAT, ("batch", model.output.out_features))
    inputs = {"token": token} | source | _cache_types(model, "past_", "past_len")
    outputs = {"log_probs": log_probs} | _cache_types(model, "", "tgt_len")
    graph.write(path, inputs, outputs)


def _decoder_layers(model: Transformer) -> list[DecoderLayer]:
    return [layer for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]


def _add_log_probs(graph: Graph, model: Transformer, hidden: str) -> None:
    """Add the log probabilities of the next token; padding and bos have none, in any sentence."""
    logits = graph.add("Squeeze", graph.linear(model.output, hidden), graph.ints(1))
    log_probs = graph.add("LogSoftmax", logits, axis=-1)
    forbidden = np.zeros(model.output.out_features, np.float32)
    forbidden[[PAD_ID, BOS_ID]] = -np.inf
    graph.add("Add", log_probs, graph.constant("forbidden", forbidden), output="log_probs")
