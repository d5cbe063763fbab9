"""One sentence, step by step through a trained model, with the model's own numbers (§3).

Not in the paper. Hooks listen while the model works as it always does; what it computes inside a
step (scores, their scaling, the mask) is computed again from what was heard, and tests hold the
whole chain to the model's output. It works on a copy with 64 bits: to the decimals that are shown,
the numbers are then the same on every processor.
"""

import copy
import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from lessonkit.analysis.activations import require_transformer
from lessonkit.analysis.heads import Head, attention_module, layer_module
from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, EOS_ID
from transformer.data.batches import collate_sources
from transformer.decoding import greedy_search
from transformer.embeddings import Embedding
from transformer.layers import DecoderLayer, EncoderLayer, Residual
from transformer.masks import causal_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

DEFAULT_SENTENCE = "The black cat is sleeping."
DEFAULT_HEAD = Head("cross", 2, 2)  # of demo-en-fr: about to write "noir", it looks at "black"


@dataclass(frozen=True)
class Side:
    """One side's way from text to the vectors that enter its stack."""

    text: str  # as typed, or as translated
    tokens: list[str]  # the source ends in "<eos>", the target read begins with "<bos>"
    ids: Tensor  # (length,)
    vectors: Tensor  # rows of the embedding times sqrt(width), (length, width)
    positions: Tensor  # rows of the table of positions, (length, width or position_dim)
    embedded: Tensor  # both together, (length, d_model)


@dataclass(frozen=True)
class HeadTrace:
    """One head at work, and its layer's heads joined (§3.2, Eq. 1)."""

    head: Head
    query_tokens: list[str]  # what queries and keys are made of: q_len and k_len pieces
    key_tokens: list[str]
    queries: Tensor  # (q_len, d_k)
    keys: Tensor  # (k_len, d_k)
    values: Tensor  # (k_len, d_v)
    scores: Tensor  # each query times each key, (q_len, k_len)
    scaled: Tensor  # this over sqrt(d_k), (q_len, k_len)
    mask: Tensor  # True = may attend, (q_len, k_len)
    masked: Tensor  # scaled scores, -inf where the mask forbids, (q_len, k_len)
    weights: Tensor  # (q_len, k_len), each row summing to 1, 0 where the mask forbids
    mixed: Tensor  # the values averaged by the weights, (q_len, d_v)
    joined: Tensor  # all heads' mixes end to end, (q_len, num_heads * d_v)
    output: Tensor  # after the output projection, (q_len, d_model)


@dataclass(frozen=True)
class SubLayer:
    """A sub-layer in its frame, every tensor (length, d_model) (§3.1)."""

    name: str  # "self-attention", "cross-attention" or "feed-forward"
    before: Tensor  # what comes in
    given: Tensor  # what the sub-layer reads: `before`, normalised first in a pre-norm model
    output: Tensor  # what the sub-layer gives
    total: Tensor  # `before` and `output` added
    after: Tensor  # what goes out: `total`, normalised in a post-norm model


@dataclass(frozen=True)
class Trace:
    """One sentence through a model, for all positions at once; every tensor is on the CPU."""

    source: Side  # src_len pieces
    target: Side  # what the decoder reads, tgt_len pieces
    written: list[str]  # what it writes, tgt_len pieces: row t after reading t + 1 pieces
    written_ids: Tensor  # (tgt_len,)
    pre_norm: bool  # whether the model normalises before its sub-layers
    attention: HeadTrace  # the chosen head
    sub_layers: list[SubLayer]  # of its layer, from the bottom up: the decoder's has three
    inner: Tensor  # the feed-forward network's inner units after the ReLU, (length, d_ff)
    decoded: Tensor  # the decoder's output, (tgt_len, d_model)
    logits: Tensor  # (tgt_len, tgt_vocab_size)
    probabilities: Tensor  # the same
    types: list[str]  # what every type of the target's vocabulary is called


def trace(
    translator: Translator, sentence: str = DEFAULT_SENTENCE, head: Head = DEFAULT_HEAD
) -> Trace:
    """Translate a sentence greedily and keep what the model computes on the way.

    Of heads and layers, the given head and its own are kept.
    """
    model = copy.deepcopy(require_transformer(translator)).to("cpu", torch.float64).eval()
    attention = attention_module(model, head)
    ids = translator.src_tokenizer.encode(sentence.strip()) if sentence.strip() else []
    if not ids:
        raise UserError("an empty sentence has no trace: give some words")
    src = collate_sources([ids])
    (said,) = greedy_search(model, src)
    said_ids = [*said.ids, EOS_ID] if said.finished else said.ids
    tgt_in = torch.tensor([[BOS_ID, *said_ids[:-1]]])
    heard, weights = _listen(model, head, attention, src, tgt_in)
    read = translator.tgt_tokenizer.pieces(tgt_in[0].tolist())
    source_tokens = translator.src_tokenizer.pieces(src[0].tolist())
    tokens = (
        source_tokens if head.stack == "encoder" else read,
        read if head.stack == "decoder" else source_tokens,
    )
    translation = translator.tgt_tokenizer.decode(said.ids)
    return Trace(
        source=_side(model.src_embedding, sentence.strip(), source_tokens, src),
        target=_side(model.tgt_embedding, translation, read, tgt_in),
        written=translator.tgt_tokenizer.pieces(said_ids),
        written_ids=torch.tensor(said_ids),
        pre_norm=model.config.pre_norm,
        attention=_head_trace(head, attention, tokens, heard, weights),
        sub_layers=_sub_layers(layer_module(model, head), heard),
        inner=heard["outer"].given,
        decoded=heard["decoder"].gave,
        logits=heard["output"].gave,
        probabilities=heard["output"].gave.softmax(dim=-1),
        types=translator.tgt_tokenizer.pieces(range(translator.tgt_tokenizer.vocab_size)),
    )


class _Heard(NamedTuple):
    """What a module was given and what it gave, of the batch's only sentence."""

    given: Tensor
    gave: Tensor


@contextmanager
def _recorded(modules: Mapping[str, nn.Module]) -> Iterator[dict[str, _Heard]]:
    """Keep what modules are given and give, while they run inside the `with` block."""
    heard: dict[str, _Heard] = {}

    def keep(name: str, _: nn.Module, given: tuple[Tensor, ...], gave: Any) -> None:
        heard[name] = _Heard(given[0][0], (gave[0] if isinstance(gave, tuple) else gave)[0])

    with ExitStack() as hooks:
        for name, module in modules.items():
            hooks.enter_context(module.register_forward_hook(partial(keep, name)))
        yield heard


@torch.no_grad()
def _listen(
    model: Transformer, head: Head, attention: MultiHeadAttention, src: Tensor, tgt_in: Tensor
) -> tuple[dict[str, _Heard], Tensor]:
    """Run the model once; give what its parts were given and gave, and the head's weights."""
    layer: EncoderLayer | DecoderLayer = layer_module(model, head)
    parts = {
        "query": attention.query_projection,
        "key": attention.key_projection,
        "value": attention.value_projection,
        "projection": attention.output_projection,
        "self-attention": layer.self_attention,
        "feed-forward": layer.feed_forward,
        "outer": layer.feed_forward.outer,
        "layer": layer,
        "decoder": model.decoder,
        "output": model.output,
    }
    if isinstance(layer, DecoderLayer):
        parts["cross-attention"] = layer.cross_attention
    with _recorded(parts) as heard:
        maps = model.attention_maps(src, tgt_in)._asdict()
        model.output(heard["decoder"].gave[None])
    return heard, maps[head.stack][head.layer - 1, 0, head.head - 1]


@torch.no_grad()
def _side(embedding: Embedding, text: str, tokens: list[str], ids: Tensor) -> Side:
    return Side(
        text=text,
        tokens=tokens,
        ids=ids[0],
        vectors=embedding.token(ids[0]) * embedding.scale,
        positions=embedding.positions.table[: ids.shape[1]],
        embedded=embedding(ids)[0],
    )


def _head_trace(
    head: Head,
    attention: MultiHeadAttention,
    tokens: tuple[list[str], list[str]],
    heard: Mapping[str, _Heard],
    weights: Tensor,
) -> HeadTrace:
    """Compute Eq. 1 for one head from what its projections gave, line by line."""
    queries, keys, values = (
        heard[name].gave.unflatten(-1, (attention.num_heads, -1))[:, head.head - 1]
        for name in ("query", "key", "value")
    )
    q_len, k_len = len(queries), len(keys)
    mask = torch.ones(q_len, k_len, dtype=torch.bool)
    if head.stack == "decoder":
        mask = causal_mask(q_len)[0, 0]
    scores = queries @ keys.T
    scaled = scores / math.sqrt(queries.shape[-1])
    return HeadTrace(
        head=head,
        query_tokens=tokens[0],
        key_tokens=tokens[1],
        queries=queries,
        keys=keys,
        values=values,
        scores=scores,
        scaled=scaled,
        mask=mask,
        masked=scaled.masked_fill(~mask, -torch.inf),
        weights=weights,
        mixed=heard["projection"].given[:, head.part(values.shape[-1])],
        joined=heard["projection"].given,
        output=heard["projection"].gave,
    )


@torch.no_grad()
def _sub_layers(layer: EncoderLayer | DecoderLayer, heard: Mapping[str, _Heard]) -> list[SubLayer]:
    """Follow the residual stream through a layer, one residual connection after the other."""
    residuals: dict[str, Residual] = {"self-attention": layer.self_attention_residual}
    if isinstance(layer, DecoderLayer):
        residuals["cross-attention"] = layer.cross_attention_residual
    residuals["feed-forward"] = layer.feed_forward_residual
    hidden, parts = heard["layer"].given, []
    for name, residual in residuals.items():
        given, output = heard[name]
        after = residual(hidden, lambda _, output=output: output)
        parts.append(SubLayer(name, hidden, given, output, hidden + output, after))
        hidden = after
    return parts
