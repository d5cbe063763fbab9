"""Parallel text: sentences beside their translations (§5.1)."""

import logging
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from transformer.data.normalizers import normalize_plain
from transformer.support.checks import check_fields
from transformer.support.errors import UserError, require
from transformer.support.signatures import check_argument_types

# What gold alignments count: a word or a punctuation mark.
WORD_OR_MARK_PATTERN = r"[^\s,.?!]+|[,.?!]"


@dataclass(frozen=True)
class ParallelText:
    """One split of a corpus in one direction."""

    src_lang: str  # a language's code, "de"; or "tree", a tree of phrases
    tgt_lang: str
    src: Sequence[str]  # stripped, none empty
    tgt: Sequence[str]  # `tgt[i]` translates `src[i]`
    # For each sentence every accepted translation, `tgt[i]` among them; None: there is one each.
    references: Sequence[Sequence[str]] | None = None
    # For each sentence its gold links (source token, target token), from 0, of the tokens that
    # `tokenize_for_alignment` returns.
    alignments: Sequence[Set[tuple[int, int]]] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.src) != len(self.tgt):
            raise UserError(
                f"{len(self.src)} lines of {self.src_lang}, {len(self.tgt)} of {self.tgt_lang}; "
                "line i of one must translate line i of the other: get both anew"
            )
        if len(self.src) == 0:
            message = f"no sentence pair in {self.src_lang}-{self.tgt_lang}"
            raise UserError(f"{message}: give a corpus with text")

        for name, lists in (("references", self.references), ("alignments", self.alignments)):
            if lists is not None:
                message = f"{len(lists)} {name} for {len(self.src)} sentences: give one for each"
                require(len(lists) == len(self.src), message)

    def __len__(self) -> int:
        return len(self.src)

    @property
    def accepted_translations(self) -> Sequence[Sequence[str]]:
        """The references of each sentence: the one translation, where there are no others."""
        if self.references is not None:
            return self.references
        return [[translation] for translation in self.tgt]


def parallel_text_from_lines(
    src_lang: str, tgt_lang: str, src: Sequence[str], tgt: Sequence[str]
) -> ParallelText:
    """Make parallel text of two lists of lines, normalized in what nobody sees.

    Pairs with an empty side are dropped, and counted in the log.
    """
    lines = ParallelText(
        src_lang,
        tgt_lang,
        src=[normalize_plain(line) for line in src],
        tgt=[normalize_plain(line) for line in tgt],
    )
    pairs = [pair for pair in zip(lines.src, lines.tgt, strict=True) if all(pair)]
    if num_dropped := len(lines) - len(pairs):
        message = f"{src_lang}-{tgt_lang}: dropped {num_dropped} of {len(lines)} pairs"
        logging.getLogger(__name__).warning(f"{message}, which have an empty side")
    return ParallelText(
        src_lang, tgt_lang, src=[src for src, _ in pairs], tgt=[tgt for _, tgt in pairs]
    )


def split_lines(text: str) -> list[str]:
    """Cut a file's text at its line feeds alone: U+2028 and its like stand inside sentences."""
    return text.removesuffix("\n").split("\n")


@check_argument_types
def tokenize_for_alignment(text: str) -> list[str]:
    """Cut a sentence into the words and punctuation marks that gold alignments count."""
    return re.findall(WORD_OR_MARK_PATTERN, text)
