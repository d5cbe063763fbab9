"""A Transformer as two ONNX graphs: one reads the source, one makes a step of decoding.

Not in the paper.

    encoder.onnx    src -> src_mask, memory_keys, memory_values
    decoder.onnx    token, src_mask, memory_keys, memory_values, past_keys, past_values
                    -> log_probs, keys, values

Decoding is cached: the keys and values of every layer go in and come out longer by a position,
and those of the source are computed once. Layers stand along the first axis, so that one index
picks rows of the batch in all of them.
"""

from pathlib import Path

import numpy as np
from onnx import TensorProto

from engines.graph import Kind
from engines.onnx_parts import Parts
from transformer.config import BOS_ID, PAD_ID
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Transformer

IDS, NUMBERS, TRUTHS = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL


def write_onnx(model: Transformer, folder: Path) -> None:
    """Write encoder.onnx and decoder.onnx.

    Args:
        model: In evaluation mode, on the CPU.
        folder: Where to; it exists.
    """
    _write_encoder(model, folder / "encoder.onnx")
    _write_decoder(model, folder / "decoder.onnx")


def _decoder_layers(model: Transformer) -> list[DecoderLayer]:
    return [layer for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]


def _caches(model: Transformer, prefix: str, length: str) -> dict[str, Kind]:
    """Describe the keys and values of every layer."""
    config = model.config
    rows = config.num_layers, "batch", config.num_heads, length
    return {
        f"{prefix}keys": (NUMBERS, (*rows, config.key_size)),
        f"{prefix}values": (NUMBERS, (*rows, config.value_size)),
    }


def _source(model: Transformer) -> dict[str, Kind]:
    """Describe what the decoder knows of the source."""
    mask: Kind = (TRUTHS, ("batch", 1, 1, "src_len"))
    return {"src_mask": mask} | _caches(model, "memory_", "src_len")


def _write_encoder(model: Transformer, path: Path) -> None:
    """Write the encoder, and the decoder's projections of what it gives."""
    parts = Parts(model)
    pad = parts.weight("pad", np.int64(PAD_ID))
    real = parts.add("Not", parts.add("Equal", "src", pad))
    mask = parts.add("Unsqueeze", real, parts.ints(1, 2), output="src_mask")
    length = parts.add("Shape", "src", start=1, end=2)
    hidden = parts.embedding(model.src_embedding, "src", parts.ints(0), length)
    for layer in model.encoder.layers:
        assert isinstance(layer, EncoderLayer)
        frame = layer.self_attention_residual
        query = parts.before(frame, hidden)
        keys, values = parts.keys_and_values(layer.self_attention, query)
        output = parts.attend(layer.self_attention, query, keys, values, mask)
        hidden = parts.after(frame, hidden, output)
        frame = layer.feed_forward_residual
        output = parts.feed_forward(layer.feed_forward, parts.before(frame, hidden))
        hidden = parts.after(frame, hidden, output)
    memory = parts.norm(model.encoder.norm, hidden)
    crossing = [layer.cross_attention for layer in _decoder_layers(model)]
    pairs = [parts.keys_and_values(attention, memory) for attention in crossing]
    parts.stack([keys for keys, _ in pairs], "memory_keys")
    parts.stack([values for _, values in pairs], "memory_values")
    parts.write(path, {"src": (IDS, ("batch", "src_len"))}, _source(model))


def _write_decoder(model: Transformer, path: Path) -> None:
    """Write one step of the decoder, for one new token a sentence."""
    parts = Parts(model)
    past = parts.add("Shape", "past_keys", start=3, end=4)
    end = parts.add("Add", past, parts.ints(1))
    hidden = parts.embedding(model.tgt_embedding, "token", past, end)  # (batch, 1, d_model)
    grown: dict[str, list[str]] = {"keys": [], "values": []}
    for index, layer in enumerate(_decoder_layers(model)):
        frame = layer.self_attention_residual
        query = parts.before(frame, hidden)
        new = parts.keys_and_values(layer.self_attention, query)
        for kind, each in zip(grown, new, strict=True):
            before = parts.layer(f"past_{kind}", index)
            grown[kind].append(parts.add("Concat", before, each, axis=2))
        output = parts.attend(
            layer.self_attention, query, grown["keys"][index], grown["values"][index]
        )
        hidden = parts.after(frame, hidden, output)
        frame = layer.cross_attention_residual
        keys, values = (parts.layer(f"memory_{kind}", index) for kind in grown)
        query = parts.before(frame, hidden)
        output = parts.attend(layer.cross_attention, query, keys, values, "src_mask")
        hidden = parts.after(frame, hidden, output)
        frame = layer.feed_forward_residual
        output = parts.feed_forward(layer.feed_forward, parts.before(frame, hidden))
        hidden = parts.after(frame, hidden, output)
    _say(parts, model, parts.norm(model.decoder.norm, hidden))
    for kind, layers in grown.items():
        parts.stack(layers, kind)
    token: dict[str, Kind] = {"token": (IDS, ("batch", 1))}
    said: dict[str, Kind] = {"log_probs": (NUMBERS, ("batch", model.output.out_features))}
    given = token | _source(model) | _caches(model, "past_", "past_len")
    parts.write(path, given, said | _caches(model, "", "tgt_len"))


def _say(parts: Parts, model: Transformer, hidden: str) -> None:
    """Add the log probabilities of the next token; no sentence holds padding or bos."""
    logits = parts.add("Squeeze", parts.linear(model.output, hidden), parts.ints(1))
    log_probs = parts.add("LogSoftmax", logits, axis=-1)
    unsaid = np.zeros(model.output.out_features, np.float32)
    unsaid[[PAD_ID, BOS_ID]] = -np.inf
    parts.add("Add", log_probs, parts.weight("unsaid", unsaid), output="log_probs")
