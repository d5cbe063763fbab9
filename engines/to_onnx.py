"""A Transformer as two ONNX graphs: one reads the source, one makes a step of decoding.

Not in the paper.

    encoder.onnx    src -> src_mask, memory_keys, memory_values
    decoder.onnx    token, src_mask, memory_keys, memory_values, past_keys, past_values
                    -> log_probs, keys, values

Decoding is cached: the keys and values of every layer go in and come out longer by a position,
and those of the source are computed once. Layers stand along the first axis, so that one index
picks rows of the batch in all of them.

ONNX writes a network as a list of nodes, each of which reads named arrays and gives new ones:
https://onnx.ai/onnx/operators/ says what each kind of node does. PyTorch's own exporter would need
another package, onnxscript.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from engines.arrays import array, embedding_tables
from transformer import __version__
from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, PAD_ID
from transformer.embeddings import Embedding
from transformer.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from transformer.model import Transformer
from transformer.support.files import write_atomically

IDS, NUMBERS, TRUTHS = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL
OPSET = 17  # of the operators: the first that has LayerNormalization (2022)

# A type of `onnx.TensorProto`, and a shape, with names where a size is free.
Kind = tuple[int, Sequence[str | int]]


class Graph:
    """Nodes and weights as they are added. A value goes by its name, a weight by the model's.

    Methods named for a module add its forward pass.
    """

    def __init__(self, model: Transformer) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, onnx.TensorProto] = {}
        self._names = {id(tensor): name for name, tensor in model.named_parameters()}

    def add(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node of one operator, "MatMul"; give the name of its result."""
        output = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def weight(self, name: str, values: Any) -> str:
        """Add an array that does not change, once; it goes by this name."""
        if name not in self.weights:
            self.weights[name] = numpy_helper.from_array(np.asarray(values), name)
        return name

    def ints(self, *values: int) -> str:
        """Add whole numbers, as a vector."""
        return self.weight(f"ints{list(values)}", np.array(values, np.int64))

    def _weight_of(self, tensor: Tensor) -> str:
        return self.weight(self._names[id(tensor)], array(tensor))

    def linear(self, layer: nn.Linear, hidden: str) -> str:
        """(batch, length, in_features) -> (batch, length, out_features)."""
        turned = self.add("Transpose", self._weight_of(layer.weight), perm=[1, 0])
        product = self.add("MatMul", hidden, turned)
        if layer.bias is None:
            return product
        return self.add("Add", product, self._weight_of(layer.bias))

    def norm(self, layer: nn.Module, hidden: str) -> str:
        """Normalise; a post-norm stack has nothing to do at its end."""
        if not isinstance(layer, nn.LayerNorm):
            return hidden
        weights = self._weight_of(layer.weight), self._weight_of(layer.bias)
        return self.add("LayerNormalization", hidden, *weights, epsilon=layer.eps)

    def residual(self, residual: Residual, hidden: str, sublayer: Callable[[str], str]) -> str:
        """Add a sub-layer's output to what went in, with the norm before it or after (§3.1)."""
        if residual.pre_norm:
            return self.add("Add", hidden, sublayer(self.norm(residual.norm, hidden)))
        return self.norm(residual.norm, self.add("Add", hidden, sublayer(hidden)))

    def embedding(self, embedding: Embedding, ids: str, start: str, end: str) -> str:
        """Embed ids (batch, length) that stand at positions start to end - 1, vectors of one."""
        words, positions = map(array, embedding_tables(embedding))
        table = self.weight(self._names[id(embedding.token.weight)], words)
        scale = self.weight("scale", np.float32(embedding.scale))
        scaled = self.add("Mul", self.add("Gather", table, ids), scale)
        rows = self.add("Slice", self.weight("positions", positions), start, end, self.ints(0))
        return self.add("Add", scaled, rows)

    def keys_and_values(self, attention: MultiHeadAttention, origin: str) -> tuple[str, str]:
        """Project to (batch, num_heads, k_len, d_k) and (batch, num_heads, k_len, d_v)."""
        keys = self.linear(attention.key_projection, origin)
        values = self.linear(attention.value_projection, origin)
        return self._split_heads(attention, keys), self._split_heads(attention, values)

    def attend(
        self, attention: MultiHeadAttention, query: str, keys: str, values: str, mask: str = ""
    ) -> str:
        """Attend from each position of `query` to the keys (§3.2.1, Eq. 1).

        Args:
            attention: Whose queries and output it is.
            query: (batch, q_len, d_model)
            keys, values: From `keys_and_values`.
            mask: True = may attend; none where every key may be attended to.
        """
        queries = self._split_heads(attention, self.linear(attention.query_projection, query))
        products = self.add("MatMul", queries, self.add("Transpose", keys, perm=[0, 1, 3, 2]))
        d_k = attention.query_projection.out_features // attention.num_heads
        root = self.weight("sqrt(d_k)", np.float32(math.sqrt(d_k)))
        scores = self.add("Div", products, root)
        if mask:
            lowest = self.weight("lowest", np.float32(-np.inf))
            scores = self.add("Where", mask, scores, lowest)
        heads = self.add("MatMul", self.add("Softmax", scores, axis=-1), values)
        turned = self.add("Transpose", heads, perm=[0, 2, 1, 3])
        joined = self.add("Reshape", turned, self.ints(0, 0, -1))  # 0 keeps a size
        return self.linear(attention.output_projection, joined)

    def _split_heads(self, attention: MultiHeadAttention, joined: str) -> str:
        """(batch, length, num_heads * d) -> (batch, num_heads, length, d)."""
        parted = self.add("Reshape", joined, self.ints(0, 0, attention.num_heads, -1))
        return self.add("Transpose", parted, perm=[0, 2, 1, 3])

    def feed_forward(self, layer: FeedForward, hidden: str) -> str:
        """Map each position for itself (§3.3, Eq. 2)."""
        return self.linear(layer.outer, self.add("Relu", self.linear(layer.inner, hidden)))

    def stack(self, layers: Sequence[str], output: str) -> None:
        """Lay one array a layer along a new first axis."""
        rows = [self.add("Unsqueeze", each, self.ints(0)) for each in layers]
        self.add("Concat", *rows, axis=0, output=output)

    def layer(self, stacked: str, index: int) -> str:
        """Take a layer's array out of a stack."""
        return self.add("Gather", stacked, self.weight(f"layer {index}", np.int64(index)), axis=0)

    def write(self, path: Path, inputs: Mapping[str, Kind], outputs: Mapping[str, Kind]) -> None:
        """Check the graph and write it, with what is read at every run and what is given."""
        given = [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()]
        made = [helper.make_tensor_value_info(name, *kind) for name, kind in outputs.items()]
        weights = list(self.weights.values())
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(
            helper.make_graph(self.nodes, path.stem, given, made, weights),
            opset_imports=[opset],
            ir_version=helper.find_min_ir_version_for([opset]),
            producer_name="attention-course",
            producer_version=__version__,
        )
        onnx.checker.check_model(model, full_check=True)
        write_atomically(path, model.SerializeToString())


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
