"""Reaching into a model for the time of a `with` block (§3.2.2, §3.2.3). Not in the paper.

An attention map shows where a model looked. What it needed is told by what changes when that is
taken away, beside a control. All of it is done in three places of a model: what a head gives before
it is joined to the others (`heads_replaced`, `run_of`), what a query may see (`edges_cut`,
`Hiding`), and the encoder's output (`memory_replaced`). Any search does inside the block, with a
cache and without.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from lessonkit.analysis.heads import Head, all_heads, attention_of
from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID
from transformer.data.batches import collate_sources
from transformer.decoding import greedy_search
from transformer.masks import padding_mask
from transformer.model import Decoder, Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

Edge = tuple[int, int]  # (query, key), places from 0
Places = Mapping[int, Tensor]  # a vector for each of some places, from 0
_DECODER_CALL, _ATTENTION_CALL = signature(Decoder.forward), signature(MultiHeadAttention.forward)


def source_of(translator: Translator, sentence: str) -> Tensor:
    """Give a sentence's ids with its end mark, (1, src_len); a blank one is refused."""
    if not sentence.strip():
        raise UserError("an empty sentence has nothing to take away: give some words")
    ids = translator.src_tokenizer.encode(sentence)
    return collate_sources([ids]).to(translator.device)


def network_of(translator: Translator) -> Transformer:
    """Give a translator's network; a recurrent one is refused."""
    if not isinstance(translator.model, Transformer):
        raise UserError("a recurrent network has no heads and no such masks: give a Transformer")
    return translator.model


def _check_place(place: int, length: int) -> None:
    if not 0 <= place < length:
        raise UserError(f"no place {place}: the source has {length} tokens, counted from 0")


@contextmanager
def _target_start(model: Transformer) -> Iterator[Callable[[], int]]:
    """Know where in the target each call of the decoder begins: a cache has it given in parts."""
    begun = [0]

    def note(decoder: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        cache = _DECODER_CALL.bind(decoder, *args, **kwargs).arguments.get("cache")
        begun[0] = 0 if cache is None else cache.length

    with model.decoder.register_forward_pre_hook(note, with_kwargs=True):
        yield lambda: begun[0]


@contextmanager
def _heads_reached(
    model: Transformer, reach: Mapping[Head, Callable[[Tensor, int], None]]
) -> Iterator[Transformer]:
    """Give each head's outputs (batch, length, d_v), and the place of the first, to a function.

    What it writes over them goes on to the output projection; what it keeps of them stays.
    """

    def show(head: Head, _: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        joined = inputs[0].clone()  # (batch, length, num_heads * d_v)
        begun = 0 if head.stack == "encoder" else start()
        reach[head](joined[..., head.part(model.config.value_size)], begun)
        return (joined,)

    with ExitStack() as hooks:
        start = hooks.enter_context(_target_start(model))
        for head in reach:
            projection = attention_of(model, head).output_projection
            hooks.enter_context(projection.register_forward_pre_hook(partial(show, head)))
        yield model


@contextmanager
def heads_replaced(
    model: Transformer, outputs: Mapping[Head, Tensor | Places]
) -> Iterator[Transformer]:
    """Run a model some of whose heads give other vectors than they would.

    With a head's mean (see `mean_outputs`) what the rest of the network expects on average
    still comes; with zeros that is missing too, and the cost may be of the surprise alone. A head
    or place that is not there is a UserError.

    A head's vector (d_v,) is for all places, or there is one for each of some: place i of the
    decoder's stacks is reached when the target's token i ("<bos>" is 0) is read.
    """

    def put(head: Head, joined: Tensor, begun: int) -> None:
        new, length = outputs[head], joined.shape[1]
        if isinstance(new, Tensor):
            joined[:] = new
            return
        for place, vector in new.items():
            if head.stack == "encoder":
                _check_place(place, length)
            if begun <= place < begun + length:
                joined[:, place - begun] = vector

    with _heads_reached(model, {head: partial(put, head) for head in outputs}):
        yield model


@contextmanager
def memory_replaced(model: Transformer, places: Places) -> Iterator[Transformer]:
    """Run a model with other vectors, (d_model,), in some places of the encoder's output.

    A place that is not there is a UserError.
    """

    def put(_: nn.Module, __: Any, output: tuple[Any, ...]) -> tuple[Any, ...]:
        hidden = output[0].clone()  # (batch, src_len, d_model)
        for place, vector in places.items():
            _check_place(place, hidden.shape[1])
            hidden[:, place] = vector
        return hidden, *output[1:]

    with model.encoder.register_forward_hook(put):
        yield model


def without_heads(
    model: Transformer, removed: Collection[Head]
) -> AbstractContextManager[Transformer]:
    """Run a model without some heads, as Michel et al. 2019 do: zeros in their place (§3.2.2)."""
    return heads_replaced(model, dict.fromkeys(removed, torch.zeros(model.config.value_size)))


@contextmanager
def edges_cut(model: Transformer, cut: Mapping[Head, Collection[Edge]]) -> Iterator[Transformer]:
    """Run a model some of whose heads may not look from one place to another.

    What the query gave to the key goes to the keys that are left: a row still sums to 1.
    Query i of the decoder's stacks has read the target's token i, "<bos>" being 0, and says
    the next. A query that would have no key left is a UserError.
    """

    def close(
        head: Head, attention: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        call = _ATTENTION_CALL.bind(attention, *args, **kwargs)
        query, memory = call.arguments["query"], call.arguments.get("memory")
        begun, q_len = 0 if head.stack == "encoder" else start(), query.shape[1]
        k_len = begun + q_len if memory is None else memory.shape[1]
        seen = torch.ones(model.config.num_heads, q_len, k_len, dtype=torch.bool)
        for row, key in cut[head]:
            if begun <= row < begun + q_len:
                seen[head.head - 1, row - begun, key] = False
        mask = call.arguments.get("mask")
        left = seen.to(query.device)[None] if mask is None else mask & seen.to(query.device)
        if not left.any(dim=-1).all():
            raise UserError("a query has no key left: leave one that it can attend to")
        call.arguments["mask"] = left
        return call.args[1:], call.kwargs

    with ExitStack() as hooks:
        start = hooks.enter_context(_target_start(model))
        for head in cut:
            attention = attention_of(model, head)
            hook = attention.register_forward_pre_hook(partial(close, head), with_kwargs=True)
            hooks.enter_context(hook)
        yield model


class Hiding:
    """A model some of whose source places cannot be attended to, for any search.

    A place hidden before the encoder is seen by no other place of the source, and not by the
    decoder. Hidden after it, the encoder has read it and may have told its neighbours; only
    the decoder's cross-attention cannot look there. Places count from 0; the model is not changed.
    """

    def __init__(
        self, model: Transformer, before: Collection[int] = (), after: Collection[int] = ()
    ) -> None:
        self.model = model
        self.before = frozenset(before)
        self.after = frozenset(after) | self.before

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Encode without the places that are hidden before the encoder."""
        return self.model.encode(src, _without(src_mask, self.before))

    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: Any = None) -> Tensor:
        """Decode without the places that are hidden."""
        return self.model.decode(tgt_in, memory, _without(src_mask, self.after), cache)

    def new_cache(self) -> Any:
        """Give the model's own empty cache."""
        return self.model.new_cache()


def _without(mask: Tensor, hidden: Collection[int]) -> Tensor:
    """Close places of a source mask, (batch, 1, 1, src_len)."""
    mask = mask.clone()
    for place in hidden:
        _check_place(place, mask.shape[-1])
        mask[..., place] = False
    if not mask.any(dim=-1).all():
        raise UserError("every place is hidden: leave one that can be attended to")
    return mask


@torch.inference_mode()
def next_token(
    translator: Translator,
    sentence: str,
    said: Sequence[int] = (),
    before: Collection[int] = (),
    after: Collection[int] = (),
) -> Tensor:
    """Give the probability of every type as the next token, with some places hidden (see `Hiding`).

    The translation so far is given by its ids, without "<bos>".
    """
    src = source_of(translator, sentence)
    hiding, src_mask = Hiding(network_of(translator), before, after), padding_mask(src)
    tgt_in = torch.tensor([[BOS_ID, *said]], device=src.device)
    return hiding.decode(tgt_in, hiding.encode(src, src_mask), src_mask)[0, -1].softmax(dim=-1)


class Run(NamedTuple):
    """What a model computed while it read one sentence and its translation.

    Heads' outputs are those before the output projection, (length, d_v): a row for each source
    token in the encoder, and for "<bos>" and each token said in the others.
    """

    said: list[int]  # ids of the translation, without "<bos>" and "<eos>"
    memory: Tensor  # the encoder's output, (src_len, d_model)
    heads: dict[Head, Tensor]


@torch.inference_mode()
def run_of(translator: Translator, sentence: str, said: Sequence[int] | None = None) -> Run:
    """Run a model over a sentence, and keep what it computed.

    The decoder reads the ids `said`, or the model's own translation, found greedily.
    """
    model, src = network_of(translator), source_of(translator, sentence)
    ids = greedy_search(model, src)[0].ids if said is None else list(said)
    kept: dict[Head, Tensor] = {}

    def keep(head: Head, outputs: Tensor, _: int) -> None:
        kept[head] = outputs[0]

    src_mask = padding_mask(src)
    with _heads_reached(model, {head: partial(keep, head) for head in all_heads(model)}):
        memory = model.encode(src, src_mask)
        model.decode(torch.tensor([[BOS_ID, *ids]], device=src.device), memory, src_mask)
    return Run(ids, memory[0], kept)


def mean_outputs(translator: Translator, sentences: Sequence[str]) -> dict[Head, Tensor]:
    """Give each head's mean output over every token of some sentences and their translations.

    They are translated greedily. A head's is a vector (d_v,), to put in the head's place.
    """
    runs = [run_of(translator, sentence).heads for sentence in sentences]
    return {head: torch.cat([run[head] for run in runs]).mean(0) for head in runs[0]}
