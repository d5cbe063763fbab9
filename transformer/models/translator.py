"""A trained model that takes text and gives text."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch import nn

from transformer.config import BEAM_SIZE, BOS_ID, EOS_ID, LENGTH_PENALTY
from transformer.data.batches import collate_sources
from transformer.decoding import (
    MAX_BEAM_SIZE,
    EncoderDecoder,
    Hypothesis,
    check_search_settings,
    length_penalty,
)
from transformer.fast_search import fast_beam_search
from transformer.model import AttentionMaps
from transformer.models.folder import ModelDescription, Network, read_model
from transformer.support.checks import check_number
from transformer.support.devices import require_usable_device
from transformer.support.errors import UserError, require
from transformer.support.folders import find_model_folder
from transformer.support.progress import progress_bar
from transformer.support.signatures import check_argument_types, check_type

MAX_BATCH_TOKENS = 4096  # source tokens searched at once, padding included, times the beam


class EncodedSource(NamedTuple):
    """A sentence as a model reads it."""

    ids: list[int]  # cut short to what the model takes; none of a blank sentence
    num_tokens: int  # before it was cut short; without the end mark

    @property
    def is_cut_short(self) -> bool:
        """Whether the model reads the beginning alone."""
        return len(self.ids) < self.num_tokens


class ScoredTranslation(NamedTuple):
    """One of the n best translations of a sentence, with its scores (§6.1)."""

    translation: str
    score: float  # log_prob over the length penalty, by which candidates are ranked (nats)
    log_prob: float  # sum of the log probabilities of its tokens, eos included (nats)
    finished: bool  # whether it ends in eos, not at the length limit; others are ranked last


class TranslationWithAttention(NamedTuple):
    """What attended to what while a sentence was translated.

    Row t of a decoder's map is of the step that wrote target token t, and read those before it.
    """

    translation: str
    src_tokens: list[str]  # "<eos>" last
    tgt_tokens: list[str]  # the translation's; "<eos>" last unless it was cut off
    maps: AttentionMaps  # for a batch of one sentence


def check_n_best(n_best: int, beam_size: int) -> None:
    """Raise a UserError unless a search with this beam can end with n translations."""
    check_search_settings(beam_size)
    check_number("n_best", n_best, 1, MAX_BEAM_SIZE, integer=True)
    if n_best > beam_size:
        raise UserError(
            f"n_best is {n_best}, and a beam of {beam_size} ends with {beam_size} translations at "
            f"most: give a beam of {n_best} or more"
        )


class Translator:
    """A trained model with its recipe and tokenizers, ready to translate."""

    @check_argument_types
    def __init__(
        self, description: ModelDescription, model: nn.Module, device: torch.device | str = "cpu"
    ) -> None:
        check_type("model", model, EncoderDecoder)
        self.recipe, self.src_tokenizer, self.tgt_tokenizer = description
        self.device = require_usable_device(device)
        # A `Network`, or a module of the user's own that can be searched.
        self.model: Any = model.to(self.device).eval()

    @classmethod
    @check_argument_types
    def load(
        cls,
        folder: str | Path,
        device: torch.device | str = "cpu",
        weights: Path | None = None,
        build: Callable[[ModelDescription], Network] = ModelDescription.build,
    ) -> Self:
        """Load what training left in a folder, or a shipped model by its name: "de-en".

        `weights` is a file of the folder's checkpoints; None means the final ones. `build` makes
        the network, if it takes more than the recipe. A UserError where a file or the device is
        not there, or damaged.
        """
        require_usable_device(device)  # An unknown one is refused before the work of reading.
        return cls(*read_model(find_model_folder(folder), weights, build), device)

    def translate(
        self, sentences: Sequence[str], beam_size: int = BEAM_SIZE, alpha: float = LENGTH_PENALTY
    ) -> list[str]:
        """Translate sentences, in order; an empty one gives an empty translation.

        Those longer than max_len are cut short, with one warning. A beam of 1 is greedy; `alpha` is
        the exponent of the length penalty (§6.1). A UserError for any other kind of argument.
        """
        check_type("sentences", sentences, Sequence[str])
        check_search_settings(beam_size, alpha)
        sources = self._encode_all(sentences)
        all_candidates = self.translate_encoded(sources, 1, beam_size, alpha)
        return [candidates[0].translation if candidates else "" for candidates in all_candidates]

    def translate_n_best(
        self,
        sentences: Sequence[str],
        n_best: int,
        beam_size: int = BEAM_SIZE,
        alpha: float = LENGTH_PENALTY,
    ) -> list[list[ScoredTranslation]]:
        """Return the n best translations of each sentence, the best first; none of an empty one.

        The first is that of `translate`. They differ in their tokens, but two may read the same. A
        search may end with fewer than n. Arguments and warnings are those of `translate`; a
        UserError where the beam, which bounds what a search ends with, is smaller than n.
        """
        check_type("sentences", sentences, Sequence[str])
        check_n_best(n_best, beam_size)
        check_search_settings(beam_size, alpha)
        return self.translate_encoded(self._encode_all(sentences), n_best, beam_size, alpha)

    def translate_encoded(
        self,
        sources: Sequence[EncodedSource],
        n_best: int = 1,
        beam_size: int = BEAM_SIZE,
        alpha: float = LENGTH_PENALTY,
    ) -> list[list[ScoredTranslation]]:
        """Return what `translate_n_best` does, of sentences that `encode_all` has encoded."""
        check_type("sources", sources, Sequence[EncodedSource])
        check_n_best(n_best, beam_size)
        check_search_settings(beam_size, alpha)
        all_hypotheses = self._search_in_batches(
            [source.ids for source in sources], beam_size, alpha
        )
        return [
            [self._to_scored_translation(hypothesis, alpha) for hypothesis in hypotheses[:n_best]]
            for hypotheses in all_hypotheses
        ]

    def _to_scored_translation(self, hypothesis: Hypothesis, alpha: float) -> ScoredTranslation:
        """Return a hypothesis as text, with the sum that its score was made of."""
        ids, score, finished = hypothesis
        num_tokens = max(1, len(ids) + finished)  # eos included
        log_prob = score * length_penalty(num_tokens, alpha)
        return ScoredTranslation(self.tgt_tokenizer.decode(ids), score, log_prob, finished)

    def attention(self, sentence: str, beam_size: int = BEAM_SIZE) -> TranslationWithAttention:
        """Translate one sentence that is not empty; return every attention weight on the way."""
        check_type("the sentence", sentence, str)
        check_search_settings(beam_size)
        message = f"a {type(self.model).__name__} has no attention_maps(): write it to see them"
        require(hasattr(self.model, "attention_maps"), message)
        source = self.encode(sentence)
        if not source:
            raise UserError("an empty sentence has no attention to show: give some words")
        [hypotheses] = self._search([source], beam_size, LENGTH_PENALTY)
        best = hypotheses[0]
        tgt_out = [*best.ids, EOS_ID] if best.finished else best.ids
        src = collate_sources([source]).to(self.device)
        tgt_in = torch.tensor([[BOS_ID, *tgt_out[:-1]]], device=self.device)
        return TranslationWithAttention(
            self.tgt_tokenizer.decode(best.ids),
            self.src_tokenizer.ids_to_pieces([*source, EOS_ID]),
            self.tgt_tokenizer.ids_to_pieces(tgt_out),
            self.model.attention_maps(src, tgt_in),
        )

    def encode(self, sentence: str) -> list[int]:
        """Return a sentence's source ids, none for a blank one; warn if it is cut short."""
        check_type("the sentence", sentence, str)
        source = self._encode(sentence)
        if source.is_cut_short:
            warnings.warn(self._cut_short_in_words(sentence, source), stacklevel=3)
        return source.ids

    def encode_all(self, sentences: Sequence[str]) -> list[EncodedSource]:
        """Encode sentences as `translate` does, with its one warning if some are cut short."""
        check_type("sentences", sentences, Sequence[str])
        return self._encode_all(sentences)

    def _encode_all(self, sentences: Sequence[str]) -> list[EncodedSource]:
        """Return each sentence encoded; warn once if some are cut short."""
        sources = [self._encode(sentence) for sentence in sentences]
        cut = [index for index, source in enumerate(sources) if source.is_cut_short]
        if cut:
            first = self._cut_short_in_words(sentences[cut[0]], sources[cut[0]])
            others = f" (and {len(cut) - 1:,} more sentences like it)" if len(cut) > 1 else ""
            # It names the line that called `translate`.
            warnings.warn(f"{first}{others}", stacklevel=3)
        return sources

    def _encode(self, sentence: str) -> EncodedSource:
        """Return a sentence encoded, cut short if it is too long for the model."""
        text = sentence.strip()
        ids = [] if self.src_tokenizer.is_blank(text) else self.src_tokenizer.encode(text)
        max_tokens = self.recipe.model.max_len - 1  # one position is for eos
        return EncodedSource(ids[:max_tokens], len(ids))

    def _cut_short_in_words(self, sentence: str, source: EncodedSource) -> str:
        """Return what is to be said of a sentence that was cut short."""
        text = sentence.strip()
        beginning = text if len(text) <= 40 else f"{text[:40]}..."
        message = f"{beginning!r} has {source.num_tokens} tokens, and this model takes"
        return f"{message} {len(source.ids)}: the rest was cut off"

    def _search_in_batches(
        self, sources: Sequence[list[int]], beam_size: int, alpha: float
    ) -> list[list[Hypothesis]]:
        """Return each source's hypotheses, the best first, in order; none of an empty source."""
        all_hypotheses: list[list[Hypothesis]] = [[] for _ in sources]
        # The longest come last: tokens tell the time left better than sentences.
        with progress_bar(sum(map(len, sources)), "translating", "source tokens") as bar:
            for rows in self._length_sorted_batches(sources, beam_size):
                batch = [sources[row] for row in rows]
                found = self._search(batch, beam_size, alpha)
                for row, hypotheses in zip(rows, found, strict=True):
                    all_hypotheses[row] = hypotheses
                bar.update(sum(map(len, batch)))
        return all_hypotheses

    def _length_sorted_batches(
        self, sources: Sequence[list[int]], beam_size: int
    ) -> Iterator[list[int]]:
        """Yield the rows of sentences that are not empty, those of like length together."""
        rows: list[int] = []
        not_empty = [row for row, source in enumerate(sources) if source]
        for row in sorted(not_empty, key=lambda row: len(sources[row])):
            if rows and (len(rows) + 1) * len(sources[row]) * beam_size > MAX_BATCH_TOKENS:
                yield rows
                rows = []
            rows.append(row)
        if rows:
            yield rows

    def _search(
        self, sources: Sequence[list[int]], beam_size: int, alpha: float
    ) -> list[list[Hypothesis]]:
        """Return each source's hypotheses, the best first."""
        src = collate_sources(sources).to(self.device)
        max_len = self.recipe.model.max_len - 1
        return fast_beam_search(
            self.model,
            src,
            beam_size=beam_size,
            alpha=alpha,
            max_len=max_len,
            use_cache=hasattr(self.model, "new_cache"),
        )
