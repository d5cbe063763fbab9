"""Lines of text beside each other: how they end, what is normalized, what is dropped."""

import logging

import pytest

from transformer.data.parallel import parallel_text_from_lines, split_lines
from transformer.support.errors import UserError


def test_lines_end_at_line_feeds_only() -> None:
    assert split_lines("a\u2028b\u0085c\rd\x1ce\nf\n") == ["a\u2028b\u0085c\rd\x1ce", "f"]


def test_pairs_with_an_empty_side_are_dropped_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    src, tgt = ["eins\t ja", "", "drei", "vier"], ["one", "two", "\u00a0", "four"]
    with caplog.at_level(logging.WARNING):
        text = parallel_text_from_lines("de", "en", src, tgt)
    assert (text.src, text.tgt) == (["eins ja", "vier"], ["one", "four"])
    assert caplog.messages == ["de-en: dropped 2 of 4 pairs, which have an empty side"]
    with pytest.raises(UserError, match="4 lines of de, 2 of en; line i of one must translate"):
        parallel_text_from_lines("de", "en", src, tgt[:2])
    for lines in ([], [""], ["", " "]):
        with pytest.raises(UserError, match="no sentence pair in de-en"):
            parallel_text_from_lines("de", "en", lines, lines)
