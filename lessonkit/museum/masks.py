"""Faults in who may look at whom (§3.1, §3.2.3).

Masks are boolean, True = may attend. Each class stands in place of the sound one that it
inherits from: read it beside `transformer.masks` and `transformer.model`.
"""

import copy
from typing import Any

import torch
from torch import Tensor

from lessonkit.museum.explicit import ExplicitAttention
from lessonkit.museum.sound import Setup
from lessonkit.museum.specimen import Specimen, attentions, turn, turned
from transformer.attention import MultiHeadAttention
from transformer.masks import causal_mask
from transformer.model import Decoder, Encoder, Transformer

Mask = Tensor | None
TUTORIAL = "https://github.com/pytorch/tutorials/pull/2662"
KERAS = "https://github.com/keras-team/keras-io/pull/1046"


class Unmasked(MultiHeadAttention):
    """Looks at every place, padding included."""

    def forward(
        self, query: Tensor, memory: Mask = None, mask: Mask = None, *rest: Any, **named: Any
    ) -> Any:
        """Call without the mask that was given."""
        return super().forward(query, memory, None, *rest, **named)


def attend_to_padding(model: Transformer) -> None:
    """Let source padding be attended to, in the encoder and from the decoder."""
    turn(model.encoder, MultiHeadAttention, Unmasked)
    look_at_padding_from_the_decoder(model)


def look_at_padding_from_the_decoder(model: Transformer) -> None:
    """Let cross-attention alone look at source padding."""
    for attention in attentions(model, "cross_attention"):
        turn(attention, MultiHeadAttention, Unmasked)


class PaddingInverted(Encoder):
    """Takes True for hidden where it means may attend."""

    def forward(self, hidden: Tensor, mask: Tensor, *rest: Any, **named: Any) -> Any:
        """Look at padding alone."""
        return super().forward(hidden, ~mask, *rest, **named)


class MaskOfQueries(Encoder):
    """Hides the padded queries in place of the padded keys."""

    def forward(self, hidden: Tensor, mask: Tensor, *rest: Any, **named: Any) -> Any:
        """Broadcast over the keys: (batch, 1, src_len, 1), not (batch, 1, 1, src_len)."""
        return super().forward(hidden, mask.transpose(-2, -1), *rest, **named)


class MaskOfTheFirst(Encoder):
    """Takes the first sentence's lengths for all."""

    def forward(self, hidden: Tensor, mask: Tensor, *rest: Any, **named: Any) -> Any:
        """Broadcast one row over the batch."""
        return super().forward(hidden, mask[:1], *rest, **named)


class MaskOfEmbeddings(Encoder):
    """Looks for padding where the embedded words are zero, when positions are added already."""

    def forward(self, hidden: Tensor, mask: Tensor, *rest: Any, **named: Any) -> Any:
        """Take a sum of 0 for padding; no sum is."""
        found = (hidden.sum(dim=-1) != 0)[:, None, None, :]
        return super().forward(hidden, found, *rest, **named)


def pass_on_no_mask(model: Transformer) -> None:
    """Give the mask to the encoder's first layer, and forget it in those above."""
    for layer in model.encoder.layers[1:]:
        turn(layer, MultiHeadAttention, Unmasked)


class NoCausalMask(Decoder):
    """Lets each position see the whole target."""

    def forward(
        self, hidden: Tensor, memory: Tensor, tgt_mask: Mask, *rest: Any, **named: Any
    ) -> Any:
        """Forget the causal mask."""
        return super().forward(hidden, memory, None, *rest, **named)


class CausalInverted(Decoder):
    """Lets each position see the future and nothing else."""

    def forward(
        self, hidden: Tensor, memory: Tensor, tgt_mask: Mask, *rest: Any, **named: Any
    ) -> Any:
        """Take True for hidden."""
        tgt_mask = None if tgt_mask is None else ~tgt_mask
        return super().forward(hidden, memory, tgt_mask, *rest, **named)


class OneAhead(Decoder):
    """Lets each position see the token that it is to predict."""

    def forward(
        self, hidden: Tensor, memory: Tensor, tgt_mask: Mask, *rest: Any, **named: Any
    ) -> Any:
        """Move the diagonal up by one."""
        if tgt_mask is not None:
            tgt_mask = torch.ones_like(tgt_mask).tril(tgt_mask.shape[-1] - tgt_mask.shape[-2] + 1)
        return super().forward(hidden, memory, tgt_mask, *rest, **named)


class OneBehind(Decoder):
    """Hides each position from itself; the first sees nothing."""

    def forward(
        self, hidden: Tensor, memory: Tensor, tgt_mask: Mask, *rest: Any, **named: Any
    ) -> Any:
        """Move the diagonal down by one."""
        if tgt_mask is not None:
            tgt_mask = torch.ones_like(tgt_mask).tril(tgt_mask.shape[-1] - tgt_mask.shape[-2] - 1)
        return super().forward(hidden, memory, tgt_mask, *rest, **named)


class CausalCross(Decoder):
    """Hides from target position t the source's places after t."""

    def forward(
        self,
        hidden: Tensor,
        memory: Tensor,
        tgt_mask: Mask,
        src_mask: Tensor,
        *rest: Any,
        **named: Any,
    ) -> Any:
        """Put the causal mask on cross-attention too."""
        lower = causal_mask(hidden.shape[1], device=hidden.device)
        lower = torch.nn.functional.pad(lower, (0, memory.shape[1]))[..., : memory.shape[1]]
        return super().forward(hidden, memory, tgt_mask, src_mask & lower, *rest, **named)


class MaskedAfterSoftmax(ExplicitAttention):
    """Hides weights, not scores: what is left of a row does not sum to one."""

    def weigh(self, scores: Tensor, mask: Mask) -> Tensor:
        """Normalise over everything, then hide."""
        weights = scores.softmax(dim=-1)
        return weights if mask is None else weights.masked_fill(~mask, 0.0)


class MaskMultiplied(ExplicitAttention):
    """Gives hidden places the score 0, which is as good as any other."""

    def weigh(self, scores: Tensor, mask: Mask) -> Tensor:
        """Multiply where -inf should be filled in."""
        return (scores if mask is None else scores * mask).softmax(dim=-1)


class InvertedInTranslation(Setup):
    """Trains with the right mask, and makes its own, upside down, to translate."""

    use_cache = False

    def searched(self) -> Transformer:
        """Give a model of the same weights whose decoder takes True for hidden."""
        model = copy.deepcopy(self.model)
        turn(model, Decoder, CausalInverted)
        return model


def _specimen(name: str, about: str, **rest: Any) -> Specimen:
    return Specimen(name=name, about=about, group="masks", **rest)


SPECIMENS = (
    _specimen(
        "padding_attended",
        "no attention hides source padding: the more there is in a batch, the less is seen "
        "of the sentence",
        alter=attend_to_padding,
        source="homework; https://github.com/OpenNMT/OpenNMT-py/issues/318 (24 BLEU in batches "
        "of 32, 9 in batches of 256)",
        trains=True,
    ),
    _specimen(
        "padding_attended_by_the_decoder",
        "the encoder hides padding, cross-attention is not told of it",
        alter=look_at_padding_from_the_decoder,
        source=KERAS,
    ),
    _specimen(
        "padding_inverted",
        "the encoder sees padding alone, since True was taken for hidden",
        alter=turned(Encoder, PaddingInverted),
        source="https://github.com/tensorflow/text/issues/938 (two layers, two polarities)",
    ),
    _specimen(
        "mask_over_queries",
        "the padding mask is broadcast over the keys, so that padded queries are hidden, "
        "not padded keys",
        alter=turned(Encoder, MaskOfQueries),
        source="https://github.com/keras-team/keras-io/pull/1254",
    ),
    _specimen(
        "mask_of_the_first",
        "the first sentence's padding mask serves the whole batch",
        alter=turned(Encoder, MaskOfTheFirst),
    ),
    _specimen(
        "mask_from_embeddings",
        "padding is looked for where the embedded words sum to 0, when positions are added",
        alter=turned(Encoder, MaskOfEmbeddings),
        source="https://github.com/Kyubyong/transformer/issues/33",
    ),
    _specimen(
        "mask_not_passed_on",
        "the layers above the first are not given the encoder's mask",
        alter=pass_on_no_mask,
        source="https://github.com/mistralai/mistral-inference/pull/218 (7% accuracy, 64% with "
        "the mask passed)",
    ),
    _specimen(
        "no_causal_mask",
        "each target position sees the whole target, the token to be predicted included",
        alter=turned(Decoder, NoCausalMask),
        source=f"{TUTORIAL}; https://github.com/jadore801120/attention-is-all-you-need-pytorch/"
        "issues/19 (98% accuracy with an inner width of 1)",
        trains=True,
    ),
    _specimen(
        "causal_inverted",
        "each target position sees the future and nothing before it",
        alter=turned(Decoder, CausalInverted),
        source="https://github.com/tensorflow/text/pull/894 (100% accuracy soon)",
        trains=True,
    ),
    _specimen(
        "one_ahead",
        "the causal mask's diagonal is one too high: the next token is seen",
        alter=turned(Decoder, OneAhead),
    ),
    _specimen(
        "one_behind",
        "the causal mask's diagonal is one too low: no position attends to itself",
        alter=turned(Decoder, OneBehind),
    ),
    _specimen(
        "cross_attention_causal",
        "the causal mask is put on cross-attention too: position t sees no source place after t",
        alter=turned(Decoder, CausalCross),
        source=KERAS,
        trains=True,
    ),
    _specimen(
        "masked_after_softmax",
        "weights are hidden after the softmax, so that the rest does not sum to one",
        alter=turned(MultiHeadAttention, MaskedAfterSoftmax),
    ),
    _specimen(
        "mask_multiplied",
        "scores are multiplied by the mask: a hidden place scores 0, not minus infinity",
        alter=turned(MultiHeadAttention, MaskMultiplied),
    ),
    _specimen(
        "inverted_in_translation",
        "training has the right causal mask, and translation makes its own upside down",
        setup=InvertedInTranslation,
        source="https://github.com/hkproj/pytorch-transformer/issues/19",
        trains=True,
        in_search=True,
    ),
)
