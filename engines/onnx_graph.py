"""An ONNX graph that is built from the modules of a Transformer.

Not in the paper. ONNX writes a network as a list of nodes, each of which reads named arrays and
makes new ones: https://onnx.ai/onnx/operators/ says what each kind of node does. PyTorch's own
exporter would need another package, onnxscript.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from engines.tables import to_float32_array, unscaled_word_and_position_tables
from transformer import __version__
from transformer.attention import MultiHeadAttention
from transformer.embeddings import Embedding
from transformer.feed_forward import FeedForward
from transformer.layers import Residual
from transformer.model import Transformer
from transformer.support.files import write_atomically

INT64, FLOAT, BOOL = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL
OPSET_VERSION = 17  # the first version of the operators that has LayerNormalization (2022)

# An element type of `onnx.TensorProto`, and a shape, with a name where a size is free.
ElementTypeAndShape = tuple[int, Sequence[str | int]]


class OnnxGraphBuilder:
    """The nodes and weights added so far; a value is called by its name, a weight as in the model.

    A method `add_MODULE` adds that module's forward pass.
    """

    def __init__(self, model: Transformer) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, onnx.TensorProto] = {}
        self._names = {id(tensor): name for name, tensor in model.named_parameters()}

    def add_node(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node of one operator, "MatMul"; return the name of its result."""
        output = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def add_constant(self, name: str, values: Any) -> str:
        """Add an array that does not change, once; return this name."""
        if name not in self.weights:
            self.weights[name] = numpy_helper.from_array(np.asarray(values), name)
        return name

    def add_int_vector(self, *values: int) -> str:
        """Add whole numbers, as a vector."""
        return self.add_constant(f"ints{list(values)}", np.array(values, np.int64))

    def add_parameter(self, tensor: Tensor) -> str:
        """Add a parameter of the model, once, under its name there."""
        return self.add_constant(self._names[id(tensor)], to_float32_array(tensor))

    def add_linear(self, layer: nn.Linear, hidden: str) -> str:
        """(batch, length, in_features) -> (batch, length, out_features)."""
        transposed = self.add_node("Transpose", self.add_parameter(layer.weight), perm=[1, 0])
        product = self.add_node("MatMul", hidden, transposed)
        if layer.bias is None:
            return product
        return self.add_node("Add", product, self.add_parameter(layer.bias))

    def add_norm(self, layer: nn.Module, hidden: str) -> str:
        """Normalise; the end of a post-norm stack has no norm, and changes nothing."""
        if not isinstance(layer, nn.LayerNorm):
            return hidden
        scale, bias = self.add_parameter(layer.weight), self.add_parameter(layer.bias)
        return self.add_node("LayerNormalization", hidden, scale, bias, epsilon=layer.eps)

    def add_residual(self, residual: Residual, hidden: str, sublayer: Callable[[str], str]) -> str:
        """Add a sub-layer's output to what went in, with the norm before it or after (§3.1)."""
        if residual.pre_norm:
            return self.add_node("Add", hidden, sublayer(self.add_norm(residual.norm, hidden)))
        return self.add_norm(residual.norm, self.add_node("Add", hidden, sublayer(hidden)))

    def add_embedding(self, embedding: Embedding, ids: str, start: str, end: str) -> str:
        """Embed ids (batch, length) at positions start to end - 1, both vectors of one number."""
        words, positions = unscaled_word_and_position_tables(embedding)
        word_table = self.add_constant(
            self._names[id(embedding.token.weight)], to_float32_array(words)
        )
        position_table = self.add_constant("positions", to_float32_array(positions))
        scale = self.add_constant("scale", np.float32(embedding.scale))
        scaled = self.add_node("Mul", self.add_node("Gather", word_table, ids), scale)
        rows = self.add_node("Slice", position_table, start, end, self.add_int_vector(0))
        return self.add_node("Add", scaled, rows)

    def add_keys_and_values(self, attention: MultiHeadAttention, memory: str) -> tuple[str, str]:
        """Project to (batch, num_heads, k_len, d_k) and (batch, num_heads, k_len, d_v)."""
        keys = self.add_linear(attention.key_projection, memory)
        values = self.add_linear(attention.value_projection, memory)
        return self._add_head_split(attention, keys), self._add_head_split(attention, values)

    def add_attention(
        self, attention: MultiHeadAttention, query: str, keys: str, values: str, mask: str = ""
    ) -> str:
        """Attend from each position of `query` to the keys (§3.2.1, Eq. 1).

        Args:
            attention: Its projections of queries and output are used.
            query: (batch, q_len, d_model)
            keys, values: From `add_keys_and_values`.
            mask: True = may attend; "" if every key may be attended to.
        """
        queries = self._add_head_split(
            attention, self.add_linear(attention.query_projection, query)
        )
        products = self.add_node(
            "MatMul", queries, self.add_node("Transpose", keys, perm=[0, 1, 3, 2])
        )
        d_k = attention.query_projection.out_features // attention.num_heads
        root = self.add_constant("sqrt(d_k)", np.float32(math.sqrt(d_k)))
        scores = self.add_node("Div", products, root)
        if mask:
            minus_infinity = self.add_constant("minus_infinity", np.float32(-np.inf))
            scores = self.add_node("Where", mask, scores, minus_infinity)
        heads = self.add_node("MatMul", self.add_node("Softmax", scores, axis=-1), values)
        by_position = self.add_node("Transpose", heads, perm=[0, 2, 1, 3])
        joined = self.add_node(
            "Reshape", by_position, self.add_int_vector(0, 0, -1)
        )  # 0 keeps a size
        return self.add_linear(attention.output_projection, joined)

    def _add_head_split(self, attention: MultiHeadAttention, joined: str) -> str:
        """(batch, length, num_heads * d) -> (batch, num_heads, length, d)."""
        by_position = self.add_node(
            "Reshape", joined, self.add_int_vector(0, 0, attention.num_heads, -1)
        )
        return self.add_node("Transpose", by_position, perm=[0, 2, 1, 3])

    def add_feed_forward(self, layer: FeedForward, hidden: str) -> str:
        """Map each position for itself (§3.3, Eq. 2)."""
        return self.add_linear(
            layer.outer, self.add_node("Relu", self.add_linear(layer.inner, hidden))
        )

    def add_stacking_over_layers(self, layers: Sequence[str], output: str) -> None:
        """Stack one array per layer along a new first axis."""
        rows = [self.add_node("Unsqueeze", layer, self.add_int_vector(0)) for layer in layers]
        self.add_node("Concat", *rows, axis=0, output=output)

    def add_layer_array_selection(self, stacked: str, index: int) -> str:
        """Take one layer's array out of a stack."""
        number = self.add_constant(f"layer {index}", np.int64(index))
        return self.add_node("Gather", stacked, number, axis=0)

    def check_and_write(
        self,
        path: Path,
        inputs: Mapping[str, ElementTypeAndShape],
        outputs: Mapping[str, ElementTypeAndShape],
    ) -> None:
        """Check the graph and write it, with the inputs and outputs of every run."""
        opset = helper.make_opsetid("", OPSET_VERSION)
        model = helper.make_model(
            helper.make_graph(
                self.nodes,
                path.stem,
                inputs=[_to_value_info(name, kind) for name, kind in inputs.items()],
                outputs=[_to_value_info(name, kind) for name, kind in outputs.items()],
                initializer=list(self.weights.values()),
            ),
            opset_imports=[opset],
            ir_version=helper.find_min_ir_version_for([opset]),
            producer_name="attention-course",
            producer_version=__version__,
        )
        onnx.checker.check_model(model, full_check=True)
        write_atomically(path, model.SerializeToString())


def _to_value_info(name: str, kind: ElementTypeAndShape) -> onnx.ValueInfoProto:
    element_type, shape = kind
    return helper.make_tensor_value_info(name, element_type, shape)
