"""A trained model that takes text and gives text."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import torch

from transformer.config import BEAM_SIZE, BOS_ID, EOS_ID, LENGTH_PENALTY
from transformer.data.batches import collate_sources
from transformer.decoding import Hypothesis, check_search
from transformer.fast_search import fast_beam_search
from transformer.model import AttentionMaps
from transformer.models.folder import Description, Network, read_model
from transformer.support.checks import check_text, check_texts
from transformer.support.errors import UserError, short_repr
from transformer.support.folders import find_model

BATCH_TOKENS = 4096  # source tokens searched side by side, times the beam


class Attention(NamedTuple):
    """What attended to what while a sentence was translated; row t read the target before t."""

    translation: str
    src_tokens: list[str]  # "<eos>" last
    tgt_tokens: list[str]  # what the model says; "<eos>" last where it ended of itself
    maps: AttentionMaps  # of a batch of one sentence


def usable_device(device: torch.device | str) -> torch.device:
    """Give a device by its name; a UserError where it is not there, or holds no numbers."""
    try:
        found = torch.device(device)
        torch.zeros(1, device=found).item()
    except (RuntimeError, AssertionError, TypeError) as error:
        why = (str(error).splitlines() or [""])[0]
        raise UserError(
            f"device is {short_repr(device)} ({why}): give 'cpu', or one here"
        ) from error
    return found


class Translator:
    """A trained model with its recipe and tokenizers, ready to translate."""

    def __init__(
        self, description: Description, model: Network, device: torch.device | str = "cpu"
    ) -> None:
        self.recipe, self.src_tokenizer, self.tgt_tokenizer = description
        self.device = usable_device(device)
        self.model = model.to(self.device).eval()

    @classmethod
    def load(
        cls,
        folder: str | Path,
        device: torch.device | str = "cpu",
        weights: Path | None = None,
        build: Callable[[Description], Network] = Description.build,
    ) -> Self:
        """Load what training left in a folder, or a shipped model by its name: "de-en".

        `weights` is a file of the folder's checkpoints; None means the final ones. `build` made
        the network, where that was not the recipe alone. A UserError where a file or the device is
        not there, or damaged.
        """
        usable_device(device)  # before the work of reading
        return cls(*read_model(find_model(folder), weights, build), device)

    def translate(
        self, sentences: Sequence[str], beam_size: int = BEAM_SIZE, alpha: float = LENGTH_PENALTY
    ) -> list[str]:
        """Translate sentences, in order; an empty one gives an empty translation.

        One longer than max_len is cut short, with a warning. A beam of 1 is greedy; `alpha` is of
        the length penalty. A UserError where one of these is not what it should be.
        """
        check_texts("sentences", sentences)
        check_search(beam_size, alpha)
        sources = []
        for sentence in sentences:  # no comprehension: a warning then names the caller's line
            sources.append(self.encode(sentence))
        translations = [""] * len(sentences)
        for rows in self._batches(sources, beam_size):
            found = self._search([sources[row] for row in rows], beam_size, alpha)
            for row, hypotheses in zip(rows, found, strict=True):
                translations[row] = self.tgt_tokenizer.decode(hypotheses[0].ids)
        return translations

    def attention(self, sentence: str, beam_size: int = BEAM_SIZE) -> Attention:
        """Translate one sentence that is not empty, and give every attention weight on the way."""
        check_text("the sentence", sentence)
        check_search(beam_size)
        source = self.encode(sentence)
        if not source:
            raise UserError("an empty sentence has no attention to show: give some words")
        best = self._search([source], beam_size, LENGTH_PENALTY)[0][0]
        said = [*best.ids, EOS_ID] if best.finished else best.ids
        src = collate_sources([source]).to(self.device)
        tgt_in = torch.tensor([[BOS_ID, *said[:-1]]], device=self.device)
        return Attention(
            self.tgt_tokenizer.decode(best.ids),
            self.src_tokenizer.pieces([*source, EOS_ID]),
            self.tgt_tokenizer.pieces(said),
            self.model.attention_maps(src, tgt_in),
        )

    def encode(self, sentence: str) -> list[int]:
        """Give a sentence's source ids, none for a blank one; what is too long is cut, aloud."""
        text = sentence.strip()
        ids = self.src_tokenizer.encode(text) if text else []
        limit = self.recipe.model.max_len - 1  # one place is for eos
        if len(ids) > limit:
            beginning = text if len(text) <= 40 else f"{text[:40]}..."
            message = f"{beginning!r} has {len(ids)} tokens, and this model takes {limit}"
            warnings.warn(f"{message}: the rest was cut off", stacklevel=3)
        return ids[:limit]

    def _batches(self, sources: Sequence[list[int]], beam_size: int) -> Iterator[list[int]]:
        """Group the rows of sentences that are not empty, those of like length together."""
        rows: list[int] = []
        filled = (row for row, source in enumerate(sources) if source)
        for row in sorted(filled, key=lambda row: len(sources[row])):
            if rows and (len(rows) + 1) * len(sources[row]) * beam_size > BATCH_TOKENS:
                yield rows
                rows = []
            rows.append(row)
        if rows:
            yield rows

    def _search(
        self, sources: Sequence[list[int]], beam_size: int, alpha: float
    ) -> list[list[Hypothesis]]:
        src, max_len = collate_sources(sources).to(self.device), self.recipe.model.max_len - 1
        return fast_beam_search(self.model, src, beam_size=beam_size, alpha=alpha, max_len=max_len)
