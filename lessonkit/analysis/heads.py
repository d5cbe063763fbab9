"""Attention heads: their names, and the table of lesson 13 (§3.2.2)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from lessonkit.records import reading_record
from transformer.attention import MultiHeadAttention
from transformer.model import AttentionMaps, Transformer
from transformer.support.errors import UserError, short_repr
from transformer.support.signatures import check_argument_types

STACK_NAMES = AttentionMaps._fields


class Head(NamedTuple):
    """One attention head of a model; `layer` and `head` count from 1."""

    stack: str  # "encoder" or "decoder" (their self-attention), or "cross"
    layer: int  # 1 is the one next to the embeddings
    head: int  # its place in the layer; nothing orders the heads of a layer

    def __str__(self) -> str:
        return f"{self.stack} {self.layer}.{self.head}"

    @check_argument_types
    def output_columns(self, d_v: int) -> slice:
        """Return its columns of the joined outputs of its layer's heads, num_heads * d_v wide."""
        return slice((self.head - 1) * d_v, self.head * d_v)


@check_argument_types
def all_heads(model: Transformer) -> list[Head]:
    """Return every head of a model: stack by stack, layer by layer."""
    layers = range(1, model.config.num_layers + 1)
    heads = range(1, model.config.num_heads + 1)
    return [Head(stack, layer, head) for stack in STACK_NAMES for layer in layers for head in heads]


def attention_module(model: Transformer, head: Head) -> MultiHeadAttention:
    """Return the attention module that a head is part of; raise a UserError if there is none."""
    if head not in all_heads(model):
        raise UserError(
            f"no head {head}: the model has the stacks {', '.join(STACK_NAMES)}, "
            f"{model.config.num_layers} layers and {model.config.num_heads} heads, from 1"
        )
    layer = parent_layer_of_head(model, head)
    attention: MultiHeadAttention = (
        layer.cross_attention if head.stack == "cross" else layer.self_attention
    )
    return attention


def parent_layer_of_head(model: Transformer, head: Head) -> Any:
    """Return the layer of the encoder or the decoder that a head is part of."""
    stack: Any = model.encoder if head.stack == "encoder" else model.decoder
    return stack.layers[head.layer - 1]


class HeadTableRow(NamedTuple):
    """A head's role and worth."""

    head: str  # its name, "encoder 2.3"
    role: str  # the one it plays best
    score: float  # the share of cases in which it does, 0 to 1
    even: float  # the share that looking evenly would get right
    cases: int
    named: bool  # whether it plays it more often than not
    cost: float  # points of BLEU (beam 4) lost with the head's mean in its place
    low: float  # the 95% interval of the cost, of a paired bootstrap
    high: float


@check_argument_types
def head_table(roles: Mapping[str, Any], removals: Mapping[str, Any]) -> list[HeadTableRow]:
    """Return a model's records of roles and of ablations side by side. Not in the paper.

    The ablations are those of `python -m experiments heads`; a head's role is named on other
    sentences than it is scored on, as by Voita et al. (2019, https://aclanthology.org/P19-1580).
    """
    with reading_record("roles or removals"):
        if roles["model"] != removals["model"]:
            raise UserError(
                f"roles of {short_repr(roles['model'])} beside removals of "
                f"{short_repr(removals['model'])}: record one model"
            )
        whole_bleu = removals["figures"]["whole"]["beam"]
        ablated = removals["figures"]["mean"]["heads"]
        return [
            HeadTableRow(
                head=name,
                **role,
                cost=round(whole_bleu - ablated[name]["beam"], 2),
                low=-ablated[name]["high"],
                high=-ablated[name]["low"],
            )
            for name, role in roles["figures"].items()
        ]
