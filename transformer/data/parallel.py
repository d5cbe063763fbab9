"""What every corpus gives: sentences and their translations, side by side, out of lines."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

from transformer.support.errors import UserError

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


def split_lines(text: str) -> list[str]:
    """Cut a file's text at its line feeds, and nowhere else.

    `str.splitlines` would also cut at U+2028, U+0085 and their like, which stand inside
    sentences of real corpora, and shift every line below against the other side.
    """
    return text.removesuffix("\n").split("\n")


def tidy(line: str) -> str:
    """Make every blank of a line a plain, single one (tab, no-break, thin), none at its edges."""
    return " ".join(line.split())


def side_by_side(
    title: str, src_lang: str, tgt_lang: str, src: list[str], tgt: list[str]
) -> ParallelText:
    """Tidy two lists of lines into parallel text, without the pairs that have an empty side.

    Args:
        title: Names the text in messages.
        src_lang, tgt_lang: Language codes.
        src, tgt: Lines as read, line i of one beside line i of the other.

    Raises:
        UserError: The lists differ in length, or no pair is left.
    """
    if len(src) != len(tgt):
        raise UserError(
            f"{title}: {len(src)} lines of {src_lang}, {len(tgt)} of {tgt_lang}; "
            f"line i of one must translate line i of the other: get both files anew"
        )
    pairs = [(tidy(a), tidy(b)) for a, b in zip(src, tgt, strict=True)]
    kept = [(a, b) for a, b in pairs if a and b]
    if len(kept) < len(pairs):
        logging.getLogger(__name__).warning(
            "%s: dropped %d of %d pairs, which have an empty side",
            title,
            len(pairs) - len(kept),
            len(pairs),
        )
    if not kept:
        raise UserError(f"{title}: no sentence pair in {len(src)} lines: give a file with text")
    return ParallelText(
        src_lang=src_lang, tgt_lang=tgt_lang, src=[a for a, _ in kept], tgt=[b for _, b in kept]
    )
