"""Where the speed of decoding comes from: each change alone, before and after.

Not in the paper. Both sides of a change do the same work on the same numbers, of the sizes that a
model has while it translates captions; their rounds are interleaved. Seconds are those of the
processor in this process, on one thread.
"""

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from engines.fast.network import FastTransformer, place_rows
from engines.fast.search import best_continuations, fast_beam_search
from lessonkit.analysis.machines import one_thread, seconds_of
from transformer.config import BEAM_SIZE, FIRST_ID, LENGTH_PENALTY, PAD_ID
from transformer.data import corpora
from transformer.data.batches import collate_sources
from transformer.data.corpora import default_split
from transformer.decoding import beam_search
from transformer.layers import DecoderLayer
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import write_json
from transformer.support.provenance import provenance

RECORD = "bench/decoding_steps.json"
ROUNDS = 7
CALLS = 10  # of each side in a round
SENTENCES = 64  # side by side
ALONE = 8  # sentences searched one by one
LENGTH = 16  # target positions already seen

Side = Callable[[], object]


class Change(NamedTuple):
    """One change, its two sides and how often each is called in a round."""

    name: str
    what: str
    before: Side
    after: Side
    calls: int = CALLS


@one_thread()
def record_steps(model: str, file: Path) -> dict[str, Any]:
    """Measure every change on a model, and write the record.

    Args:
        model: A model folder, or the name of a shipped model.
        file: JSON to write.

    Raises:
        UserError: the model is an LSTM.
    """
    translator = Translator.load(model)
    if not isinstance(translator.model, Transformer):
        raise UserError(f"{model} is an LSTM: name a Transformer")
    data = translator.recipe.data
    text = corpora.load(data.corpus, default_split(data.corpus), data.src_lang, data.tgt_lang)
    sources = [translator.src_tokenizer.encode(each) for each in text.src[:SENTENCES]]
    src = collate_sources([each for each in sources if each])
    origin = provenance(torch.device("cpu"))
    with torch.inference_mode():
        network = translator.model
        changes = [*copying(network), *products(network)]
        changes += [*halves(network, src), *whole(network, src)]
        found = [measure(change) for change in changes]
    sizes = {"sentences": len(src), "length": LENGTH, "rounds": ROUNDS}
    record = origin | {"model": model} | sizes | {"changes": found}
    write_json(file, record)
    return record


def measure(change: Change) -> dict[str, Any]:
    """Call both sides in turn.

    Returns:
        The change's name and what it does, and for each side the median over the rounds of the
        seconds of one call.
    """
    took: dict[str, list[float]] = {"before": [], "after": []}
    sides = {"before": change.before, "after": change.after}
    for number in range(ROUNDS + 1):  # the first of them warms up
        for name, side in sides.items():
            seconds = seconds_of(partial(_repeat, side, change.calls))
            if number:
                took[name].append(seconds / change.calls)
    medians = {name: round(statistics.median(each), 8) for name, each in took.items()}
    return {"name": change.name, "what": change.what} | medians


def _repeat(side: Side, calls: int) -> None:
    for _ in range(calls):
        side()


def products(model: Transformer) -> Iterator[Change]:
    """Give the changes in what is computed, for `SENTENCES` sentences of `BEAM_SIZE` prefixes."""
    fast = FastTransformer(model)
    hidden = torch.randn(SENTENCES * BEAM_SIZE, model.config.d_model)
    layer = model.decoder.layers[0]
    assert isinstance(layer, DecoderLayer)
    attention = layer.self_attention
    three = (attention.query_projection, attention.key_projection, attention.value_projection)
    into = fast.decoder[0][0].into
    yield Change(
        "one product",
        "queries, keys and values of a layer in one matrix product, not in three",
        lambda: [each(hidden) for each in three],
        lambda: into(hidden),
    )
    yield Change(
        "weights in oneDNN's order",
        "the matrix before the softmax lies as oneDNN's product reads it",
        lambda: model.output(hidden),
        lambda: fast.softmax(hidden),
    )
    log_probs = model.output(hidden).log_softmax(dim=-1)  # which a second softmax leaves as it is
    yield Change(
        "softmax in place",
        "log probabilities are written over the logits, not beside them",
        lambda: log_probs.log_softmax(dim=-1),
        lambda: torch.log_softmax(log_probs, dim=-1, out=log_probs),
    )
    no_scores = torch.zeros(len(log_probs), 1)
    yield Change(
        "maxima of groups first",
        "the best types are looked for in the groups with the best maxima, not among all types",
        lambda: log_probs.topk(2 * BEAM_SIZE),
        lambda: best_continuations(log_probs[:, None], no_scores, 2 * BEAM_SIZE),
    )


def copying(model: Transformer) -> Iterator[Change]:
    """Give the changes in what is kept and copied, for as many prefixes."""
    rows, config = SENTENCES * BEAM_SIZE, model.config
    past = torch.randn(rows, config.num_heads, LENGTH, config.key_size)
    room = torch.randn(rows, config.num_heads, LENGTH + 1, config.key_size)
    new = torch.randn(rows, config.num_heads, 1, config.key_size)
    yield Change(
        "room in advance",
        "a new position's keys are written where they stay, not joined to a copy of all others",
        lambda: torch.cat((past, new), dim=2),
        lambda: room[:, :, LENGTH:].copy_(new),
    )
    queries = torch.randn(SENTENCES, config.num_heads, BEAM_SIZE, config.key_size)
    source = torch.randn(SENTENCES, config.num_heads, LENGTH, config.key_size)
    alone = queries.transpose(1, 2).flatten(end_dim=1)[:, :, None]
    copies = source.repeat_interleave(BEAM_SIZE, dim=0)
    yield Change(
        "one source, many prefixes",
        "the prefixes of a source are query positions of one cross-attention, with one set of keys",
        lambda: F.scaled_dot_product_attention(alone, copies, copies),
        lambda: F.scaled_dot_product_attention(queries, source, source),
    )
    order = torch.arange(rows).view(-1, BEAM_SIZE)
    order[:, -1] = order[:, 0]  # of each sentence one prefix dies and the best one splits
    moved = order.flatten()
    yield Change(
        "who stays is not moved",
        "only the prefixes whose place is taken by another one are copied",
        lambda: past[moved],
        lambda: place_rows(past[None], moved)[0],
    )


def whole(model: Transformer, src: torch.Tensor) -> Iterator[Change]:
    """Give whole searches: the textbook's, and the one made for speed."""
    fast = FastTransformer(model)
    one_by_one = [row[row != PAD_ID][None] for row in src[:ALONE]]
    for name, beam_size, batches in (
        ("greedy, together", 1, [src]),
        ("greedy, one by one", 1, one_by_one),
        ("beams, together", BEAM_SIZE, [src]),
        ("beams, one by one", BEAM_SIZE, one_by_one),
    ):
        yield Change(
            name,
            f"all changes: a search of {sum(map(len, batches))} sentences",
            partial(_search, beam_search, model, batches, beam_size),
            partial(_search, fast_beam_search, fast, batches, beam_size),
            calls=1,
        )


def _search(
    search: Callable[..., object], model: object, batches: list[torch.Tensor], beam_size: int
) -> None:
    for batch in batches:
        search(model, batch, beam_size=beam_size, alpha=LENGTH_PENALTY)


def halves(model: Transformer, src: torch.Tensor) -> Iterator[Change]:
    """Give the encoder and the decoder, each alone, of the textbook and made for decoding."""
    fast, mask = FastTransformer(model), padding_mask(src)
    memory = model.encode(src, mask)
    yield Change(
        "encoder",
        f"the same changes in the encoder: {len(src)} sentences",
        lambda: model.encode(src, mask),
        lambda: fast.encode(src, mask),
    )
    ids = torch.full((len(src),), FIRST_ID)

    def plain() -> None:
        cache = model.new_cache()
        for _ in range(LENGTH):
            model.decode(ids[:, None], memory, mask, cache)

    def quick() -> None:
        cache = fast.new_cache(memory, mask, 1)
        for _ in range(LENGTH):
            fast.step(ids, cache)

    what = f"{LENGTH} steps of the decoder, logits included: {len(src)} sentences"
    yield Change("decoder", what, plain, quick, calls=1)
