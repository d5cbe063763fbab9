"""One sentence, step by step through a trained model, with the model's own numbers (§3).

Not in the paper. Hooks record what modules read and return while the model runs as it always does.
What it computes inside a step (scores, their scaling, the mask) is computed again from the record,
and tests hold the whole chain to the model's output. The model is copied to 64 bits: to the
decimals that are shown, the numbers are then the same on every processor.
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

from lessonkit.analysis.activations import transformer_of_translator
from lessonkit.analysis.heads import Head, attention_module, parent_layer_of_head
from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, EOS_ID
from transformer.data.batches import collate_sources
from transformer.decoding import greedy_search
from transformer.embeddings import Embedding
from transformer.layers import DecoderLayer, EncoderLayer, Residual
from transformer.masks import causal_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.parts import non_paper_part_class_names
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

DEFAULT_SENTENCE = "The black cat is sleeping."
DEFAULT_HEAD = Head("cross", 2, 2)  # of demo-en-fr: about to write "noir", it looks at "black"


@dataclass(frozen=True)
class EmbeddingTrace:
    """One sentence on its way from text to the vectors that enter its stack."""

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
class SubLayerTrace:
    """A sub-layer with its residual connection, every tensor (length, d_model) (§3.1)."""

    name: str  # "self-attention", "cross-attention" or "feed-forward"
    before: Tensor  # what comes in
    sublayer_input: Tensor  # `before`, normalised first in a pre-norm model
    output: Tensor  # of the sub-layer
    total: Tensor  # `before` and `output` added
    after: Tensor  # what goes out: `total`, normalised in a post-norm model


@dataclass(frozen=True)
class Trace:
    """One sentence through a model, for all positions at once; every tensor is on the CPU."""

    source: EmbeddingTrace  # src_len pieces
    target: EmbeddingTrace  # what the decoder reads, tgt_len pieces
    written: list[str]  # what it writes, tgt_len pieces: row t after reading t + 1 pieces
    written_ids: Tensor  # (tgt_len,)
    pre_norm: bool  # whether the model normalises before its sub-layers
    attention: HeadTrace  # the chosen head
    sub_layers: list[SubLayerTrace]  # of its layer, from the bottom up: the decoder's has three
    inner: Tensor  # the feed-forward network's inner units after the ReLU, (length, d_ff)
    decoded: Tensor  # the decoder's output, (tgt_len, d_model)
    logits: Tensor  # (tgt_len, tgt_vocab_size)
    probabilities: Tensor  # the same
    types: list[str]  # what every type of the target's vocabulary is called


@check_argument_types
def trace_translation(
    translator: Translator, sentence: str = DEFAULT_SENTENCE, head: Head = DEFAULT_HEAD
) -> Trace:
    """Translate a sentence greedily and return what the model computes on the way.

    Of all heads and layers, the trace holds one head and its layer. A UserError if the model has
    other parts than the paper's, whose steps are not these.
    """
    model = transformer_of_translator(translator)
    if parts := non_paper_part_class_names(model):
        raise UserError(
            f"the model's {' and '.join(parts)} are not the paper's, whose steps a trace shows: "
            "give a model without `parts`"
        )
    model = copy.deepcopy(model).to("cpu", torch.float64).eval()
    attention = attention_module(model, head)
    if translator.src_tokenizer.is_blank(sentence):
        raise UserError("an empty sentence has no trace: give some words")
    ids = translator.src_tokenizer.encode(sentence)
    src = collate_sources([ids])
    (hypothesis,) = greedy_search(model, src)
    tgt_ids = [*hypothesis.ids, EOS_ID] if hypothesis.finished else hypothesis.ids
    tgt_in = torch.tensor([[BOS_ID, *tgt_ids[:-1]]])
    calls, weights = _record_parts_around_head(model, head, attention, src, tgt_in)
    read_tokens = translator.tgt_tokenizer.ids_to_pieces(tgt_in[0].tolist())
    source_tokens = translator.src_tokenizer.ids_to_pieces(src[0].tolist())
    query_tokens = source_tokens if head.stack == "encoder" else read_tokens
    key_tokens = read_tokens if head.stack == "decoder" else source_tokens
    translation = translator.tgt_tokenizer.decode(hypothesis.ids)
    logits = calls["output"].output
    return Trace(
        source=_trace_embedding(model.src_embedding, sentence.strip(), source_tokens, src),
        target=_trace_embedding(model.tgt_embedding, translation, read_tokens, tgt_in),
        written=translator.tgt_tokenizer.ids_to_pieces(tgt_ids),
        written_ids=torch.tensor(tgt_ids),
        pre_norm=model.config.pre_norm,
        attention=_trace_head(head, attention, query_tokens, key_tokens, calls, weights),
        sub_layers=_trace_sub_layers(parent_layer_of_head(model, head), calls),
        inner=calls["outer"].input,
        decoded=calls["decoder"].output,
        logits=logits,
        probabilities=logits.softmax(dim=-1),
        types=translator.tgt_tokenizer.ids_to_pieces(range(translator.tgt_tokenizer.vocab_size)),
    )


class _ModuleCall(NamedTuple):
    """What a module read and returned, of the batch's only sentence."""

    input: Tensor
    output: Tensor


@contextmanager
def _recording_calls(modules: Mapping[str, nn.Module]) -> Iterator[dict[str, _ModuleCall]]:
    """Record what modules read and return while they run inside the `with` block."""
    calls: dict[str, _ModuleCall] = {}

    def record(name: str, _: nn.Module, inputs: tuple[Tensor, ...], returned: Any) -> None:
        output = returned[0] if isinstance(returned, tuple) else returned
        calls[name] = _ModuleCall(inputs[0][0], output[0])

    with ExitStack() as hooks:
        for name, module in modules.items():
            hooks.enter_context(module.register_forward_hook(partial(record, name)))
        yield calls


@torch.no_grad()
def _record_parts_around_head(
    model: Transformer, head: Head, attention: MultiHeadAttention, src: Tensor, tgt_in: Tensor
) -> tuple[dict[str, _ModuleCall], Tensor]:
    """Run the model once; return the calls of its parts, and the head's weights."""
    layer: EncoderLayer | DecoderLayer = parent_layer_of_head(model, head)
    modules = {
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
        modules["cross-attention"] = layer.cross_attention
    with _recording_calls(modules) as calls:
        maps = model.attention_maps(src, tgt_in)._asdict()
        model.output(calls["decoder"].output[None])
    return calls, maps[head.stack][head.layer - 1, 0, head.head - 1]


@torch.no_grad()
def _trace_embedding(
    embedding: Embedding, text: str, tokens: list[str], ids: Tensor
) -> EmbeddingTrace:
    return EmbeddingTrace(
        text=text,
        tokens=tokens,
        ids=ids[0],
        vectors=embedding.token(ids[0]) * embedding.scale,
        positions=embedding.positions.table[: ids.shape[1]],
        embedded=embedding(ids)[0],
    )


def _trace_head(
    head: Head,
    attention: MultiHeadAttention,
    query_tokens: list[str],
    key_tokens: list[str],
    calls: Mapping[str, _ModuleCall],
    weights: Tensor,
) -> HeadTrace:
    """Compute Eq. 1 for one head from the outputs of its projections, line by line."""

    def of_head(projection: str) -> Tensor:
        joined = calls[projection].output  # (length, num_heads * width)
        return joined.unflatten(-1, (attention.num_heads, -1))[:, head.head - 1]

    queries, keys, values = of_head("query"), of_head("key"), of_head("value")
    q_len, k_len = len(queries), len(keys)
    mask = torch.ones(q_len, k_len, dtype=torch.bool)
    if head.stack == "decoder":
        mask = causal_mask(q_len)[0, 0]
    scores = queries @ keys.T
    scaled = scores / math.sqrt(queries.shape[-1])
    return HeadTrace(
        head=head,
        query_tokens=query_tokens,
        key_tokens=key_tokens,
        queries=queries,
        keys=keys,
        values=values,
        scores=scores,
        scaled=scaled,
        mask=mask,
        masked=scaled.masked_fill(~mask, -torch.inf),
        weights=weights,
        mixed=calls["projection"].input[:, head.output_columns(values.shape[-1])],
        joined=calls["projection"].input,
        output=calls["projection"].output,
    )


@torch.no_grad()
def _trace_sub_layers(
    layer: EncoderLayer | DecoderLayer, calls: Mapping[str, _ModuleCall]
) -> list[SubLayerTrace]:
    """Follow the residual stream through a layer, one residual connection after the other."""
    residuals: dict[str, Residual] = {"self-attention": layer.self_attention_residual}
    if isinstance(layer, DecoderLayer):
        residuals["cross-attention"] = layer.cross_attention_residual
    residuals["feed-forward"] = layer.feed_forward_residual
    hidden = calls["layer"].input
    sub_layers = []
    for name, residual in residuals.items():
        call = calls[name]
        after = residual(hidden, lambda _, output=call.output: output)
        sub_layers.append(
            SubLayerTrace(
                name=name,
                before=hidden,
                sublayer_input=call.input,
                output=call.output,
                total=hidden + call.output,
                after=after,
            )
        )
        hidden = after
    return sub_layers
