"""The decoder of `transformer.model` for search, a token at a time: the same logits in less time.

Not in the paper. It reads the weights of a `Transformer` that has the paper's parts, and
`transformer.layers` is its oracle. Matrices lie as a product with few rows reads them fastest; the
cache is that of `transformer.fast_decoder_cache`. docs/decisions/fast-decoding.md says what that is
worth.
"""

from typing import Any, NamedTuple, TypeGuard
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules import module as torch_modules

from transformer.attention import MultiHeadAttention
from transformer.config import ModelConfig
from transformer.fast_decoder_cache import FastDecoderCache
from transformer.fast_dropout import FastDropout
from transformer.feed_forward import FeedForward
from transformer.kernels import is_fused_attention_slow
from transformer.layers import DecoderLayer, Residual
from transformer.model import Decoder, Transformer

# The classes of a decoder layer's parts, by the last word of their names.
LAYER_PART_CLASSES: dict[str, tuple[type[nn.Module], ...]] = {
    "attention": (MultiHeadAttention,),
    "forward": (FeedForward,),
    "residual": (Residual,),
    "projection": (nn.Linear,),
    "inner": (nn.Linear,),
    "outer": (nn.Linear,),
    "norm": (nn.LayerNorm,),
    "dropout": (nn.Dropout, FastDropout),
}


class Projection(NamedTuple):
    """One or more linear maps of the same input, side by side."""

    matrix: Tensor  # (width_in, width_out), contiguous
    bias: Tensor | None  # (width_out,)

    def __call__(self, hidden: Tensor) -> Tensor:
        """Map (rows, width_in) to (rows, width_out)."""
        if self.bias is None:
            return torch.mm(hidden, self.matrix)
        return torch.addmm(self.bias, hidden, self.matrix)


def join_linears(*linears: nn.Linear) -> Projection:
    """Return linear maps of the same input as one; no bias is a bias of zeros beside others."""
    weights: list[Tensor] = [linear.weight for linear in linears]
    matrix = torch.cat(weights).t().contiguous()
    if all(linear.bias is None for linear in linears):
        return Projection(matrix, None)
    biases: list[Tensor] = [
        weight.new_zeros(len(weight)) if linear.bias is None else linear.bias
        for linear, weight in zip(linears, weights, strict=True)
    ]
    return Projection(matrix, torch.cat(biases))


class DecoderLayerProjections:
    """The linear maps of a `DecoderLayer`, but for cross-attention's keys and values."""

    def __init__(self, layer: DecoderLayer) -> None:
        own, cross, feed_forward = layer.self_attention, layer.cross_attention, layer.feed_forward
        self.self_input = join_linears(
            own.query_projection, own.key_projection, own.value_projection
        )
        self.self_output = join_linears(own.output_projection)
        self.cross_query = join_linears(cross.query_projection)
        self.cross_output = join_linears(cross.output_projection)
        self.inner = join_linears(feed_forward.inner)
        self.outer = join_linears(feed_forward.outer)


class DecoderProjections:
    """Copies of a decoder's linear maps, each laid out for products with few rows."""

    def __init__(self, model: Transformer) -> None:
        layers: list[Any] = list(model.decoder.layers)
        self.layers = [DecoderLayerProjections(layer) for layer in layers]
        cross = [layer.cross_attention for layer in layers]
        self.source = join_linears(
            *(part for each in cross for part in (each.key_projection, each.value_projection))
        )  # cross-attention's keys and values of all layers
        self.output = join_linears(model.output)


# Of each model: what its weights were when they were copied, and the copies.
_projections_by_model: WeakKeyDictionary[Transformer, tuple[Tensor, DecoderProjections]] = (
    WeakKeyDictionary()
)


def decoder_projections(model: Transformer) -> DecoderProjections:
    """Return a model's projections, those of an earlier call unless its weights have changed.

    Copying takes as long as some tokens, and so must last for many sentences. Whether the weights
    have changed is told by their products with random vectors, which takes less than a token:
    PyTorch does not count changes made through `.data`.
    """
    linears = [part for part in model.decoder.modules() if isinstance(part, nn.Linear)]
    products = fingerprint([*linears, model.output])
    earlier = _projections_by_model.get(model)
    if earlier is None or not is_same_tensor(earlier[0], products):
        earlier = products, DecoderProjections(model)
        _projections_by_model[model] = earlier
    return earlier[1]


def is_same_tensor(first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors are equal in type, device and every number."""
    is_same_kind = (first.dtype, first.device) == (second.dtype, second.device)
    return is_same_kind and torch.equal(first, second)


def fingerprint(linears: list[nn.Linear]) -> Tensor:
    """Return numbers that differ if any weight or bias does, by all that is likely."""
    weights = [linear.weight for linear in linears]
    width = max(weight.shape[1] for weight in weights)
    # The default device may be another one.
    generator = torch.Generator("cpu").manual_seed(1)
    probe = torch.randn(width, generator=generator, device="cpu").to(weights[0])
    products = [torch.mv(weight, probe[: weight.shape[1]]) for weight in weights]
    biases = [linear.bias for linear in linears if linear.bias is not None]
    return torch.cat((*products, *biases))


class FastDecoder:
    """A `Transformer` to be searched once, whose cache is a `FastDecoderCache`.

    Raises nothing of its own: `is_fast_decoder_right_for` says which models it takes.
    """

    def __init__(self, model: Transformer, beam_size: int) -> None:
        self.model, self.beam_size = model, beam_size
        self.encode, self.pre_norm = model.encode, model.config.pre_norm
        self.projections = decoder_projections(model)

    def new_cache(self) -> FastDecoderCache:
        """Return an empty cache for `decode`."""
        return FastDecoderCache(self.beam_size)

    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: Any = None) -> Tensor:
        """Score the token after each prefix, as `Transformer.decode` does with its cache.

        Args:
            tgt_in: The newest id of each prefix, (rows, 1).
            memory: Of each prefix's source, (rows, src_len, d_model); read at the first step alone.
            src_mask: (rows, 1, 1, src_len); likewise.
            cache: From `new_cache`; it must be given.

        Returns:
            Logits, (rows, 1, tgt_vocab_size).
        """
        if not cache.length:
            cache.start(
                self._source_keys_and_values(memory[:: self.beam_size]),
                src_mask[:: self.beam_size],
            )
        hidden = self.model.tgt_embedding(tgt_in, cache.length)[:, 0]  # (rows, d_model)
        cache.begin_position(tgt_in[:, 0])
        layers: Any = zip(self.model.decoder.layers, self.projections.layers, strict=True)
        for index, (layer, projections) in enumerate(layers):
            norm = layer.self_attention_residual.norm
            projected = projections.self_input(self._pre_norm(norm, hidden))
            heads = cache.attend_to_prefix(index, projected)
            hidden = self._post_norm(norm, hidden + projections.self_output(heads))

            norm = layer.cross_attention_residual.norm
            queries = projections.cross_query(self._pre_norm(norm, hidden))
            heads = cache.attend_to_source(index, queries)
            hidden = self._post_norm(norm, hidden + projections.cross_output(heads))

            norm = layer.feed_forward_residual.norm
            inner = projections.inner(self._pre_norm(norm, hidden)).relu_()
            hidden = self._post_norm(norm, hidden + projections.outer(inner))
        hidden = self.model.decoder.norm(hidden)
        return self.projections.output(hidden)[:, None]

    def _source_keys_and_values(self, memory: Tensor) -> Tensor:
        """Return cross-attention's, (num_layers, 2, sentences, num_heads, src_len, d_k)."""
        sentences, src_len, d_model = memory.shape
        projected = self.projections.source(memory.reshape(-1, d_model))
        config = self.model.config
        num_layers = len(self.projections.layers)
        sizes = sentences, src_len, num_layers, 2, config.num_heads, config.key_size
        return projected.view(sizes).permute(2, 3, 0, 4, 1, 5)

    def _pre_norm(self, norm: nn.LayerNorm, hidden: Tensor) -> Tensor:
        return normalize(norm, hidden) if self.pre_norm else hidden

    def _post_norm(self, norm: nn.LayerNorm, hidden: Tensor) -> Tensor:
        return hidden if self.pre_norm else normalize(norm, hidden)


def normalize(norm: nn.LayerNorm, hidden: Tensor) -> Tensor:
    """Call a norm without the hooks and checks of a module's call."""
    return F.layer_norm(hidden, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


def is_fast_decoder_right_for(model: object) -> TypeGuard[Transformer]:
    """Return whether a model's decoder is the paper's, so that `FastDecoder` computes the same.

    It must be in evaluation mode, in a precision whose fused attention is fast, with no class, hook
    or method of somebody's own in it, and of the configuration's sizes.
    """
    if type(model) is not Transformer or torch.is_autocast_enabled(model.output.weight.device.type):
        return False
    config, decoder = model.config, model.decoder
    return (
        config.key_size == config.value_size
        and not is_fused_attention_slow(model.output.weight)
        and not torch_modules._global_forward_hooks
        and not torch_modules._global_forward_pre_hooks
        and not ({"encode", "decode", "decode_hidden", "new_cache"} & vars(model).keys())
        # The decoder's last norm is called as it is, whatever it is.
        and _is_unaltered(decoder, Decoder)
        and _is_unaltered(decoder.layers, nn.ModuleList)
        and _is_unaltered(model.output, nn.Linear)
        and all(_is_layer_unaltered(layer, config) for layer in decoder.layers)
    )


def _is_layer_unaltered(layer: nn.Module, config: ModelConfig) -> bool:
    """Return whether a decoder layer is made of the paper's parts, of the sizes of `config`."""
    if not _is_unaltered(layer, DecoderLayer):
        return False
    for name, part in layer.named_modules():
        classes = LAYER_PART_CLASSES.get(name.replace(".", "_").split("_")[-1], ())
        if part is not layer and not _is_unaltered(part, *classes):
            return False
        if isinstance(part, Residual) and part.pre_norm != config.pre_norm:
            return False
        if isinstance(part, MultiHeadAttention):
            widths = {len(part.key_projection.weight), len(part.value_projection.weight)}
            width = config.num_heads * config.key_size
            if part.num_heads != config.num_heads or widths != {width}:
                return False
    return True


def _is_unaltered(module: nn.Module, *classes: type[nn.Module]) -> bool:
    """Return whether a module computes what one of these classes says, without dropout."""
    return (
        type(module) in classes
        and not module.training
        and not module._forward_hooks
        and not module._forward_pre_hooks
        and not ({"forward", "project", "attend"} & vars(module).keys())
    )
