"""Lines as they stand in a file, made into sentence pairs."""

import logging

from transformer.data.parallel import ParallelText
from transformer.errors import UserError


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
