"""Faults to switch on in a whole model: what kept the homework's Transformers (system 5) behind.

Not in the paper. Lessons and experiments measure what each of them costs; no other part of the
package has them. None changes a shape, none stops the loss from falling.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer.attention import KeyValueCache, MultiHeadAttention
from transformer.model import Decoder, Encoder, Transformer
from transformer.support.errors import UserError, unknown_name
from transformer.trained.folder import Description, Network


class _Altered(nn.Module):
    """An attention whose result is not the one it should be; called as the attention is."""

    masked = True  # whether it heeds the mask

    def __init__(self, attention: MultiHeadAttention) -> None:
        super().__init__()
        self.attention = attention

    @property
    def output_projection(self) -> nn.Linear:
        """The attention's own, which adds up its heads."""
        return self.attention.output_projection

    def forward(
        self,
        query: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
        return_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Take and give the shapes of `MultiHeadAttention.forward`."""
        mask = mask if self.masked else None
        output, weights = self.attention(query, memory, mask, cache, return_weights)
        return self.altered(query, output), weights

    def altered(self, query: Tensor, output: Tensor) -> Tensor:
        """Give what comes out in place of `output`, (batch, q_len, d_model)."""
        return output


class _OwnValue(_Altered):
    def altered(self, query: Tensor, output: Tensor) -> Tensor:
        return self.attention.output_projection(self.attention.value_projection(query))


class _Lost(_Altered):
    def altered(self, query: Tensor, output: Tensor) -> Tensor:
        return torch.zeros_like(output)


class _Unmasked(_Altered):
    masked = False


def _alter(stack: Encoder | Decoder, name: str, kind: type[_Altered]) -> None:
    """Put an altered attention in place of each layer's attention of this name."""
    for layer in stack.layers:
        setattr(layer, name, kind(getattr(layer, name)))


def return_own_value(model: Transformer) -> None:
    """Let each position of every self-attention return its own value, projected.

    The weights sum to 1 over the keys; where the values carry the queries' index, that
    sum is all that is left of them.
    """
    _alter(model.encoder, "self_attention", _OwnValue)
    _alter(model.decoder, "self_attention", _OwnValue)


def lose_self_attention(model: Transformer) -> None:
    """Give the decoder's cross-attention what the layer began with, not self-attention's output."""
    _alter(model.decoder, "self_attention", _Lost)


def share_projection(model: Transformer) -> None:
    """Make one projection of queries, keys and values, in every attention."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.key_projection = module.value_projection = module.query_projection


def attend_to_padding(model: Transformer) -> None:
    """Let source padding be attended to, in the encoder and from the decoder."""
    _alter(model.encoder, "self_attention", _Unmasked)
    _alter(model.decoder, "cross_attention", _Unmasked)


FAULTS: dict[str, Callable[[Transformer], None]] = {
    "self-attention returns its own input": return_own_value,
    "the decoder's self-attention is lost": lose_self_attention,
    "one projection for queries, keys and values": share_projection,
    "padding is attended to": attend_to_padding,
}


def build_with(*names: str) -> Callable[[Description], Network]:
    """Give what makes a recipe's network with these faults, from the same random numbers.

    Args:
        names: Of `FAULTS`.

    Returns:
        A function to be given as `build` to `train_recipe` and `Translator.load`.

    Raises:
        UserError: there is no such fault; or, when called, the network is no Transformer.
    """
    for name in names:
        if name not in FAULTS:
            raise unknown_name("fault", name, FAULTS)

    def build(description: Description) -> Network:
        model = description.build()
        for name in names:
            if not isinstance(model, Transformer):
                raise UserError(f"{description.recipe.name!r} is no Transformer: no such faults")
            FAULTS[name](model)
        return model

    return build
