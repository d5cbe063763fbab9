"""What each variant of the experiment `modern` costs: operations, cache, and CPU time side by side.

Not in the paper. Nothing is trained: a step's time does not depend on how good the weights are, and
translations are cut at one length.
"""

import statistics
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from experiments.plans import EXPERIMENTS
from lessonkit.analysis.flops import count_flops_of_call
from lessonkit.analysis.timing import process_seconds_of_call
from transformer.config import TrainingConfig
from transformer.data import corpora, tokenizers
from transformer.data.batches import Batch, collate, encode_pairs
from transformer.data.token_budget import TokenBudgetBatches
from transformer.decoding import beam_search
from transformer.masks import padding_mask
from transformer.model import count_parameters
from transformer.models.folder import ModelDescription, Network
from transformer.training.loop import new_state, update

EXPERIMENT = EXPERIMENTS["modern"]
# In each round every variant makes a training step, and translates the sentences.
NUM_TIMED_ROUNDS = 12
NUM_SENTENCES = 64
# The length of the pair whose operations are counted, and of every translation that is timed.
TOKENS_A_SIDE = 16


class Variant(NamedTuple):
    """A network of the experiment, untrained, and its training step."""

    network: Network
    state: Any
    config: TrainingConfig

    def step(self, batch: Batch) -> None:
        """Make a training step, at a rate that leaves the weights as they are but for rounding."""
        update(self.network.train(), self.state, batch, self.config, rate=1e-9)

    def translate(self, src: Tensor) -> None:
        """Search `TOKENS_A_SIDE` tokens for each source, with a beam of 4.

        The plain search treats all variants alike: the fast one has a decoder of its own for the
        paper's parts.
        """
        beam_search(self.network.eval(), src, max_len=TOKENS_A_SIDE)


def measure_variants() -> dict[str, Any]:
    """Measure every variant; times are interleaved, a round of all before the next.

    Returns:
        For each variant its parameters; multiplications (each with its addition) and bytes of cache
        a token, source and target counted, of a pair of `TOKENS_A_SIDE` tokens a side; and CPU
        seconds a training step and a sentence: their median, and the median, lowest and highest of
        the rounds as multiples of the first variant's.
    """
    first = next(iter(EXPERIMENT.variants))
    variants, batches, src = _make_variants_batches_and_sources(first)
    steps: dict[str, list[float]] = {name: [] for name in variants}
    searches: dict[str, list[float]] = {name: [] for name in variants}
    # The first round does not count: memory is allocated and kernels are chosen there.
    for batch in batches:
        for name, variant in variants.items():
            steps[name].append(process_seconds_of_call(partial(variant.step, batch)))
            searches[name].append(process_seconds_of_call(partial(variant.translate, src)))
    return {
        "experiment": EXPERIMENT.name,
        "budget": dict(EXPERIMENT.budget),
        "rounds": NUM_TIMED_ROUNDS,
        "sentences": NUM_SENTENCES,
        "tokens_a_side": TOKENS_A_SIDE,
        "variants": {
            name: _parameters_operations_and_cache(variant.network)
            | {"step": _median_and_ratios(steps[name][1:], steps[first][1:], 1)}
            | {
                "sentence": _median_and_ratios(
                    searches[name][1:], searches[first][1:], NUM_SENTENCES
                )
            }
            for name, variant in variants.items()
        },
    }


def _make_variants_batches_and_sources(
    first: str,
) -> tuple[dict[str, Variant], list[Batch], Tensor]:
    """Return all variants, a batch for each round, and the sources, by the first one's recipe."""
    recipe, _ = EXPERIMENT.recipe_and_options(first, seed=1)
    data, training = recipe.data, recipe.training
    text = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang)
    of_both_sides = tokenizers.train(data, text.src, text.tgt)
    examples = encode_pairs(*of_both_sides, text, data.max_train_tokens)
    all_batches = TokenBudgetBatches(examples, training.batch_tokens, seed=training.seed)
    batches = list(islice(all_batches.epoch(0), NUM_TIMED_ROUNDS + 1))
    variants = {name: _make_variant(name, *of_both_sides) for name in EXPERIMENT.variants}
    return variants, batches, collate(examples[:NUM_SENTENCES]).src


def _make_variant(name: str, *of_both_sides: tokenizers.Tokenizer) -> Variant:
    recipe, options = EXPERIMENT.recipe_and_options(name, seed=1)
    torch.manual_seed(recipe.training.seed)
    network = ModelDescription(recipe, *of_both_sides).build()
    make_optimizer = options.train_recipe_kwargs(recipe).get("optimizer")
    state = new_state(network, recipe.training, optimizer=make_optimizer)
    return Variant(network, state, recipe.training)


@torch.inference_mode()
def _parameters_operations_and_cache(network: Any) -> dict[str, int]:
    """Return what does not depend on the machine: parameters, operations and bytes of cache."""
    ids = torch.full((1, TOKENS_A_SIDE), 7)
    network.eval()
    flops, _ = count_flops_of_call(partial(network, ids, ids))
    mask, cache = padding_mask(ids), network.new_cache()
    network.decode(ids, network.encode(ids, mask), mask, cache)
    return {
        "parameters": count_parameters(network),
        "multiply_adds_per_token": round(flops / 2 / (2 * TOKENS_A_SIDE)),
        "cache_bytes_per_token": round(cache_bytes(cache) / (2 * TOKENS_A_SIDE)),
    }


def cache_bytes(cache: Any) -> int:
    """Return the bytes of all tensors in a network's cache, whose `layers` hold caches or pairs."""
    total = 0
    for layer in cache.layers:
        for layer_cache in layer if isinstance(layer, tuple) else (layer,):
            total += sum(tensor.numel() * tensor.element_size() for tensor in layer_cache.tensors)
    return total


def _median_and_ratios(seconds: list[float], base: list[float], divisor: int) -> dict[str, Any]:
    """Return the median of a variant's seconds, over the divisor, and its ratios to the first's."""
    times = [own / other for own, other in zip(seconds, base, strict=True)]
    return {
        "cpu_seconds": round(statistics.median(seconds) / divisor, 6),
        "times": round(statistics.median(times), 3),
        "lowest_and_highest": [round(min(times), 3), round(max(times), 3)],
    }
