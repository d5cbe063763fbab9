"""Attention step by step, so that a specimen can change one step (§3.2.1; not in the paper)."""

import math

from torch import Tensor

from transformer.attention import KeyValueCache, MultiHeadAttention


class ExplicitAttention(MultiHeadAttention):
    """The package's attention, right, along its explicit path.

    Its steps are small methods: `score`, `weigh`, and those that it inherits.
    """

    def forward(
        self,
        query: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
        return_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Take and give the shapes of `MultiHeadAttention.forward`."""
        queries = self._split_heads(self.query_projection(query))
        keys, values = self._keys_and_values(query, memory, cache)
        weights = self.weigh(self.score(queries, keys), mask)
        joined = self._join_heads(self.dropout(weights) @ values)
        return self.output_projection(joined), weights if return_weights else None

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Compare each query with each key, (batch, num_heads, q_len, k_len)."""
        return queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])

    def weigh(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Turn scores into weights, 0 where the mask is False."""
        if mask is None:
            return scores.softmax(dim=-1)
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
        return weights.masked_fill(~mask, 0.0)  # a row of -inf alone gives NaN
