"""The parts of a Transformer in ONNX's operators: Eq. 1 and its surroundings once more.

Not in the paper. Each method of `Parts` is the forward pass of the module that it is given.
"""

import math

import numpy as np
from torch import Tensor, nn

from engines.arrays import array, embedding_tables
from engines.graph import Graph
from transformer.attention import MultiHeadAttention
from transformer.embeddings import Embedding
from transformer.layers import FeedForward, Residual
from transformer.model import Transformer


class Parts(Graph):
    """A graph that is given modules; their weights keep the names they have in the model.

    Args:
        model: That the modules are of, on the CPU.
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self._names = {id(tensor): name for name, tensor in model.named_parameters()}

    def _weight_of(self, tensor: Tensor) -> str:
        return self.weight(self._names[id(tensor)], array(tensor))

    def linear(self, layer: nn.Linear, hidden: str) -> str:
        """(batch, length, in_features) -> (batch, length, out_features)."""
        turned = self.add("Transpose", self._weight_of(layer.weight), perm=[1, 0])
        output = self.add("MatMul", hidden, turned)
        return (
            output if layer.bias is None else self.add("Add", output, self._weight_of(layer.bias))
        )

    def norm(self, layer: nn.Module, hidden: str) -> str:
        """Normalise; a post-norm stack has nothing to do at its end."""
        if not isinstance(layer, nn.LayerNorm):
            return hidden
        weights = self._weight_of(layer.weight), self._weight_of(layer.bias)
        return self.add("LayerNormalization", hidden, *weights, epsilon=layer.eps)

    def before(self, frame: Residual, hidden: str) -> str:
        """Give a sub-layer's input."""
        return self.norm(frame.norm, hidden) if frame.pre_norm else hidden

    def after(self, frame: Residual, hidden: str, output: str) -> str:
        """Add a sub-layer's output to what went in."""
        hidden = self.add("Add", hidden, output)
        return hidden if frame.pre_norm else self.norm(frame.norm, hidden)

    def embedding(self, embedding: Embedding, ids: str, start: str, end: str) -> str:
        """Embed tokens that stand at positions start to end - 1: (batch, length, d_model).

        Args:
            embedding: Of the side; a graph has one.
            ids: (batch, length)
            start, end: Vectors of one number.
        """
        words, positions = embedding_tables(embedding)
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

    def feed_forward(self, layer: FeedForward, hidden: str) -> str:
        """Map each position for itself (§3.3, Eq. 2)."""
        return self.linear(layer.outer, self.add("Relu", self.linear(layer.inner, hidden)))

    def _split_heads(self, attention: MultiHeadAttention, joined: str) -> str:
        """(batch, length, num_heads * d) -> (batch, num_heads, length, d)."""
        parted = self.add("Reshape", joined, self.ints(0, 0, attention.num_heads, -1))
        return self.add("Transpose", parted, perm=[0, 2, 1, 3])

    def stack(self, layers: list[str], output: str) -> str:
        """Lay one array a layer along a new first axis."""
        first = self.ints(0)
        return self.add(
            "Concat",
            *[self.add("Unsqueeze", each, first) for each in layers],
            axis=0,
            output=output,
        )

    def layer(self, stacked: str, index: int) -> str:
        """Take a layer's array out of a stack."""
        return self.add("Gather", stacked, self.weight(f"layer {index}", np.int64(index)), axis=0)
