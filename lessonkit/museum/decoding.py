"""Faults in the search and in its cache (§6.1).

Each class stands in place of the sound one that it inherits from: read it beside
`transformer.decoding`, `transformer.attention` and `sound.Setup`.
"""

import copy
import dataclasses
import math
from typing import Any

import torch
from torch import Tensor

from attention_laws.adapter import Adapter, Candidate
from lessonkit.museum.masks import attend_to_padding
from lessonkit.museum.sound import Setup
from lessonkit.museum.specimen import Specimen, turned
from lessonkit.museum.training import EvalForgotten
from transformer.attention import KeyValueCache
from transformer.config import BOS_ID, EOS_ID
from transformer.decoding import Hypothesis, length_penalty
from transformer.masks import padding_mask
from transformer.model import DecoderCache, Transformer


class NotReordered(DecoderCache):
    """Moves keys and values when a sentence leaves the batch, and not when a prefix splits.

    Of a prefix's continuations the best one has its keys; another has those of one that died.
    """

    def select(self, rows: Tensor) -> None:
        """Give each prefix a place in its sentence, the best continuation its predecessor's."""
        kept = self.layers[0][0].kept
        assert kept is not None
        if self.length == 1:  # the prefixes of a sentence were all one
            self.beam_size = len(rows) // len(rows.unique()) if len(rows) else 1
            self.places = list(range(self.beam_size)) * len(kept[0])
        found, places = [], []
        for origins in rows.view(-1, self.beam_size).tolist():
            first = origins[0] // self.beam_size * self.beam_size
            row_at = {self.places[row]: row for row in range(first, first + self.beam_size)}
            taken: dict[int, int] = {}  # by which of the new prefixes a place is taken
            for number, origin in enumerate(origins):
                taken.setdefault(self.places[origin], number)
            others = [number for number in range(self.beam_size) if number not in taken.values()]
            taken |= {place: others.pop() for place in range(self.beam_size) if place not in taken}
            new = sorted(taken, key=lambda place: taken[place])
            found += [row_at[place] for place in new]
            places += new
        self.places = places
        super().select(rows if len(rows) < len(kept[0]) else torch.tensor(found))


class LeftBehind(Setup):
    """Shows the laws how its cache is reordered: not at all."""

    def adapter(self) -> Adapter:
        """Give the cache back as it was."""
        made = super().adapter()
        assert made.cached is not None
        as_it_was = dataclasses.replace(made.cached, reorder=lambda cache, rows: cache)
        return made.replace(cached=as_it_was)


class NewestAlone(KeyValueCache):
    """Keeps the newest position in place of all."""

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Put the new keys where the old ones were."""
        self.kept = None
        return super().append(keys, values)


class KeysAlone(KeyValueCache):
    """Moves keys with their rows, and forgets to move values."""

    def select(self, rows: Tensor) -> None:
        """Move one of the two."""
        if self.kept is not None:
            keys, values = self.kept
            self.kept = keys[rows], values if len(rows) == len(values) else values[rows]


class CacheNotReordered(Transformer):
    """Has a cache that beams do not take along."""

    def new_cache(self) -> DecoderCache:
        """Give one that is not reordered."""
        return NotReordered(self.config.num_layers)


class CacheOfTheNewest(Transformer):
    """Has a cache of one position."""

    def new_cache(self) -> DecoderCache:
        """Give one whose self-attention forgets."""
        cache = super().new_cache()
        cache.layers = [(NewestAlone(), source) for _, source in cache.layers]
        return cache


class CacheOfKeys(Transformer):
    """Has a cache whose keys and values part when beams move."""

    def new_cache(self) -> DecoderCache:
        """Give one that moves keys alone."""
        cache = super().new_cache()
        cache.layers = [(KeysAlone(), source) for _, source in cache.layers]
        return cache


class CacheOfTheSentenceBefore(Transformer):
    """Keeps the keys and values of the first sources for all later ones of their shape."""

    def decode(
        self,
        tgt_in: Tensor,
        memory: Tensor,
        src_mask: Tensor,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Take what cross-attention remembers, where it should begin empty."""
        if cache is None:
            return super().decode(tgt_in, memory, src_mask)
        kept = self.__dict__.setdefault("kept", {})
        if cache.length == 0 and memory.shape[:2] in kept:
            sources = kept[memory.shape[:2]]
            cache.layers = [
                (own, copy.copy(old)) for (own, _), old in zip(cache.layers, sources, strict=True)
            ]
        logits = super().decode(tgt_in, memory, src_mask, cache)
        kept.setdefault(memory.shape[:2], [copy.copy(source) for _, source in cache.layers])
        return logits


class PaddingInBatches(Setup):
    """Trains with masks, and translates batches without."""

    def searched(self) -> Transformer:
        """Give a model of the same weights that looks at padding."""
        model = copy.deepcopy(self.model)
        attend_to_padding(model)
        return model


class PenaltyUpsideDown(Setup):
    """Multiplies by the length penalty where it should divide: short is best."""

    def rank(self, log_prob: float, length: int) -> float:
        """Take a product of a negative number and a growing one."""
        return log_prob * length_penalty(length)

    def beam(
        self, src: Tensor, beam_size: int, length: int, alpha: float = 0.0
    ) -> list[list[Hypothesis]]:
        """Rank what the search has found."""
        found = super().beam(src, beam_size, length)
        return found if alpha == 0 else [sorted(row, key=self._last) for row in found]

    def _last(self, found: Hypothesis) -> float:
        return -self.rank(found.score, len(found.ids) + found.finished)


class EndNotCounted(Setup):
    """Leaves eos out of a candidate's score."""

    def candidates(self, src: Tensor, beam_size: int, length: int) -> list[list[Candidate]]:
        """Take the log probability of eos away again."""
        rows = []
        for one, found in zip(src, super().candidates(src, beam_size, length), strict=True):
            rows.append([self._without_end(one[None], each) for each in found])
        return rows

    @torch.no_grad()
    def _without_end(self, src: Tensor, found: Candidate) -> Candidate:
        if not found.finished:
            return found
        tgt_in = torch.tensor([[BOS_ID, *found.ids]])
        end = self.model(src, tgt_in)[0, -1].log_softmax(dim=-1)[EOS_ID]
        return found._replace(log_prob=found.log_prob - float(end))


class WorstFirst(Setup):
    """Sorts by the negated score, and forgets that it was negated."""

    def beam(
        self, src: Tensor, beam_size: int, length: int, alpha: float = 0.0
    ) -> list[list[Hypothesis]]:
        """Give the last for the first."""
        return [row[::-1] for row in super().beam(src, beam_size, length, alpha)]


class ProbabilitiesAdded(Setup):
    """Gives a candidate the mean of its log probabilities where a sum is asked for."""

    def candidates(self, src: Tensor, beam_size: int, length: int) -> list[list[Candidate]]:
        """Divide by the length."""
        found = super().candidates(src, beam_size, length)
        return [[each._replace(log_prob=_mean(each)) for each in row] for row in found]


def _mean(each: Candidate) -> float:
    return each.log_prob / max(1, len(each.ids) + each.finished)


class Sampled(Setup):
    """Draws each token where the most probable one is asked for."""

    @torch.no_grad()
    def greedy(self, src: Tensor, length: int) -> list[list[int]]:
        """Draw from the model's distribution."""
        with self.search_mode():
            return [self._drawn(each[None], length) for each in src]

    def _drawn(self, src: Tensor, length: int) -> list[int]:
        ids: list[int] = []
        while len(ids) < length:
            weights = self.model(src, torch.tensor([[BOS_ID, *ids]]))[0, -1].softmax(dim=-1)
            token = int(torch.multinomial(weights, 1))
            if token == EOS_ID:
                break
            ids.append(token)
        return ids


class PastTheEnd(Setup):
    """Goes on after eos, up to the limit."""

    @torch.no_grad()
    def greedy(self, src: Tensor, length: int) -> list[list[int]]:
        """Ask for `length` tokens whatever they are."""
        with self.search_mode():
            tgt_in = torch.full((len(src), 1), BOS_ID)
            for _ in range(length):
                best = self.model(src, tgt_in)[:, -1:].argmax(dim=-1)
                tgt_in = torch.cat((tgt_in, best), dim=1)
        return tgt_in[:, 1:].tolist()


class StopsWithTheFirst(Setup):
    """Ends the whole batch when one sentence has ended."""

    def greedy(self, src: Tensor, length: int) -> list[list[int]]:
        """Cut all to the shortest."""
        found = super().greedy(src, length)
        shortest = min(map(len, found))
        return [each[:shortest] for each in found]


class EncodesForEachWord(Setup):
    """Runs the encoder again for every word: the same, at many times the price."""

    use_cache = False

    @torch.no_grad()
    def greedy(self, src: Tensor, length: int) -> list[list[int]]:
        """Call the whole model for every prefix."""
        with self.search_mode():
            return [self._translated(each[None], length) for each in src]

    def _translated(self, src: Tensor, length: int) -> list[int]:
        src = src[:, : int(padding_mask(src).sum())]
        ids: list[int] = []
        while len(ids) < length:
            logits = self.model(src, torch.tensor([[BOS_ID, *ids]]))[0, -1]
            logits[[0, BOS_ID]] = -math.inf
            if (token := int(logits.argmax())) == EOS_ID:
                break
            ids.append(token)
        return ids


def _specimen(name: str, about: str, **rest: Any) -> Specimen:
    return Specimen(name=name, about=about, group="decoding", **rest)


CACHES = (
    _specimen(
        "cache_not_reordered",
        "beams go on from other prefixes, their keys and values stay behind",
        alter=turned(Transformer, CacheNotReordered),
        setup=LeftBehind,
        trains=True,
        in_search=True,
    ),
    _specimen(
        "cache_of_the_newest",
        "the cache keeps the newest position alone",
        alter=turned(Transformer, CacheOfTheNewest),
        source="https://github.com/lucidrains/x-transformers/issues/219 (junk with the cache, "
        "sense without)",
        trains=True,
        in_search=True,
    ),
    _specimen(
        "cache_of_keys",
        "keys move with their beams, values do not",
        alter=turned(Transformer, CacheOfKeys),
    ),
    _specimen(
        "cache_of_the_sentence_before",
        "cross-attention's cache is not emptied for the next sentence",
        alter=turned(Transformer, CacheOfTheSentenceBefore),
    ),
)
SEARCHES = (
    _specimen(
        "padding_in_translation",
        "training hides padding, and translation in batches does not",
        setup=PaddingInBatches,
        source="https://github.com/OpenNMT/OpenNMT-py/issues/318 (24 BLEU in batches of 32, 9 in "
        "batches of 256)",
        trains=True,
        in_search=True,
    ),
    _specimen(
        "length_penalty_upside_down",
        "the sum of log probabilities is multiplied by the length penalty, not divided",
        setup=PenaltyUpsideDown,
        trains=True,
        in_search=True,
    ),
    _specimen("end_not_counted", "a candidate's score leaves eos out", setup=EndNotCounted),
    _specimen("worst_first", "candidates are sorted the wrong way", setup=WorstFirst),
    _specimen("mean_for_sum", "a candidate's score is a mean", setup=ProbabilitiesAdded),
    _specimen("sampled_for_greedy", "tokens are drawn, not chosen", setup=Sampled),
    _specimen("past_the_end", "the search goes on after eos", setup=PastTheEnd),
    _specimen(
        "stops_with_the_first", "a batch ends where one sentence ends", setup=StopsWithTheFirst
    ),
    _specimen(
        "eval_forgotten",
        "translation runs in training mode, with dropout",
        setup=EvalForgotten,
        source="tatoeba; both-ways",
        trains=True,
        in_search=True,
    ),
    _specimen(
        "encodes_for_each_word",
        "the encoder runs again for every word: right, and slow",
        setup=EncodesForEachWord,
        source="tatoeba",
    ),
)
SPECIMENS = (*CACHES, *SEARCHES)
