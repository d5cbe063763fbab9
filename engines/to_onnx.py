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
from onnx import TensorProto

from engines.onnx_graph import Graph, Kind
from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, PAD_ID
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Transformer

IDS, NUMBERS, TRUTHS = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL


def write_onnx(model: Transformer, folder: Path) -> None:
    """Write encoder.onnx and decoder.onnx of a model in evaluation mode, on the CPU."""
    mask: Kind = (TRUTHS, ("batch", 1, 1, "src_len"))
    source = {"src_mask": mask} | _caches(model, "memory_", "src_len")
    _write_encoder(model, folder / "encoder.onnx", source)
    _write_decoder(model, folder / "decoder.onnx", source)


def _caches(model: Transformer, prefix: str, length: str) -> dict[str, Kind]:
    """Describe the keys and values of every layer."""
    config = model.config
    rows = config.num_layers, "batch", config.num_heads, length
    return {
        f"{prefix}keys": (NUMBERS, (*rows, config.key_size)),
        f"{prefix}values": (NUMBERS, (*rows, config.value_size)),
    }


def _write_encoder(model: Transformer, path: Path, source: dict[str, Kind]) -> None:
    """Write the encoder, and the decoder's projections of what it gives."""
    graph = Graph(model)
    real = graph.add("Not", graph.add("Equal", "src", graph.weight("pad", np.int64(PAD_ID))))
    graph.add("Unsqueeze", real, graph.ints(1, 2), output="src_mask")
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
    crossing = [layer.cross_attention for layer in _decoder_layers(model)]
    keys, values = zip(*(graph.keys_and_values(each, memory) for each in crossing), strict=True)
    graph.stack(keys, "memory_keys")
    graph.stack(values, "memory_values")
    graph.write(path, {"src": (IDS, ("batch", "src_len"))}, source)


def _write_decoder(model: Transformer, path: Path, source: dict[str, Kind]) -> None:
    """Write one step of the decoder, for one new token a sentence."""
    graph = Graph(model)
    past = graph.add("Shape", "past_keys", start=3, end=4)
    end = graph.add("Add", past, graph.ints(1))
    hidden = graph.embedding(model.tgt_embedding, "token", past, end)  # (batch, 1, d_model)
    grown: dict[str, list[str]] = {"keys": [], "values": []}

    def attend_to_past(index: int, attention: MultiHeadAttention, query: str) -> str:
        new = graph.keys_and_values(attention, query)
        for kind, each in zip(grown, new, strict=True):
            before = graph.layer(f"past_{kind}", index)
            grown[kind].append(graph.add("Concat", before, each, axis=2))
        return graph.attend(attention, query, grown["keys"][index], grown["values"][index])

    def attend_to_source(index: int, attention: MultiHeadAttention, query: str) -> str:
        keys, values = (graph.layer(f"memory_{kind}", index) for kind in grown)
        return graph.attend(attention, query, keys, values, "src_mask")

    for index, layer in enumerate(_decoder_layers(model)):
        sublayer = partial(attend_to_past, index, layer.self_attention)
        hidden = graph.residual(layer.self_attention_residual, hidden, sublayer)
        sublayer = partial(attend_to_source, index, layer.cross_attention)
        hidden = graph.residual(layer.cross_attention_residual, hidden, sublayer)
        sublayer = partial(graph.feed_forward, layer.feed_forward)
        hidden = graph.residual(layer.feed_forward_residual, hidden, sublayer)
    _add_log_probs(graph, model, graph.norm(model.decoder.norm, hidden))
    for kind, layers in grown.items():
        graph.stack(layers, kind)
    token: dict[str, Kind] = {"token": (IDS, ("batch", 1))}
    log_probs: dict[str, Kind] = {"log_probs": (NUMBERS, ("batch", model.output.out_features))}
    given = token | source | _caches(model, "past_", "past_len")
    graph.write(path, given, log_probs | _caches(model, "", "tgt_len"))


def _decoder_layers(model: Transformer) -> list[DecoderLayer]:
    return [layer for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]


def _add_log_probs(graph: Graph, model: Transformer, hidden: str) -> None:
    """Add the log probabilities of the next token; no sentence holds padding or bos."""
    logits = graph.add("Squeeze", graph.linear(model.output, hidden), graph.ints(1))
    log_probs = graph.add("LogSoftmax", logits, axis=-1)
    unsaid = np.zeros(model.output.out_features, np.float32)
    unsaid[[PAD_ID, BOS_ID]] = -np.inf
    graph.add("Add", log_probs, graph.weight("unsaid", unsaid), output="log_probs")
