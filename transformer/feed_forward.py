"""The feed-forward network of each position (§3.3)."""

from torch import Tensor, nn

from transformer.config import MAX_DIMENSION, ModelConfig
from transformer.support.checks import (
    check_hidden_states,
    check_num_elements,
    check_number,
    check_sizes,
)
from transformer.support.signatures import check_argument_types


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between, the same at every position (§3.3, Eq. 2).

    `dropout` falls on the inner activations, (batch, length, d_ff); the paper has none.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        check_sizes(MAX_DIMENSION, d_model=d_model, d_ff=d_ff)
        check_num_elements(d_model=d_model, d_ff=d_ff)
        check_number("dropout", dropout, 0, 1)
        self.d_model = d_model
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (batch, length, d_model) to the same shape, each position for itself."""
        check_hidden_states("hidden", hidden, self.d_model, self.inner.weight)
        inner = self.inner(hidden).relu()  # (batch, length, d_ff)
        return self.outer(self.dropout(inner))  # (batch, length, d_model)


@check_argument_types
def make_feed_forward(config: ModelConfig) -> FeedForward:
    """Make a feed-forward network of the configuration's widths (§3.3)."""
    return FeedForward(config.d_model, config.d_ff, config.feed_forward_dropout)
