"""What every corpus gives: sentences and their translations, side by side."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from transformer.errors import UserError

WORD = r"[^\s,.?!]+|[,.?!]"  # what gold alignments count: a word or a punctuation mark


def aligned_tokens(text: str) -> list[str]:
    """Cut a sentence into the words and punctuation marks that gold alignments count.

    "L'homme dort, dit-on." has five: L'homme, dort, the comma, dit-on, the full stop.
    """
    return re.findall(WORD, text)


@dataclass(frozen=True, kw_only=True)
class ParallelText:
    """One split of a corpus in one direction.

    Attributes:
        src_lang, tgt_lang: Language codes: "de", "en", "fr"; or "tree", a tree of phrases.
        src: Source sentences, stripped, none empty.
        tgt: Their translations; `tgt[i]` translates `src[i]`.
        references: For each sentence every accepted translation, `tgt[i]` among
            them; None where the corpus has one translation each.
        alignments: For each sentence its gold links (source token, target token),
            counted from 0 over what `aligned_tokens` gives; None where unknown.
    """

    src_lang: str
    tgt_lang: str
    src: Sequence[str]
    tgt: Sequence[str]
    references: Sequence[Sequence[str]] | None = None
    alignments: Sequence[frozenset[tuple[int, int]]] | None = None

    def __post_init__(self) -> None:
        if len(self.src) != len(self.tgt):
            raise UserError(
                f"the sides differ: {len(self.src)} lines of {self.src_lang}, {len(self.tgt)} of "
                f"{self.tgt_lang}; line i of one must translate line i of the other"
            )
        if not self.src:
            raise UserError(
                f"no sentence pairs in {self.src_lang}-{self.tgt_lang}: give a corpus with text"
            )

    def __len__(self) -> int:
        return len(self.src)
