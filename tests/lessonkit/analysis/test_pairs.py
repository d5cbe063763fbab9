"""A pair as a model reads it: pieces find their words, rows and columns add up."""

from pathlib import Path

import pytest
import torch

from lessonkit.analysis.pairs import Pair, words_of
from transformer.config import DataConfig
from transformer.data import corpora, tokenizers
from transformer.data.parallel import aligned_tokens
from transformer.models.translator import Translator


@pytest.mark.parametrize("size", [260, 400, 3000])
def test_pieces_find_their_words_in_every_sentence(size: int) -> None:
    for tgt_lang in ("fr", "de"):
        text = corpora.load("embedded", "test", "en", tgt_lang)
        data = DataConfig(corpus="embedded", src_lang="en", tgt_lang=tgt_lang, vocab_size=size)
        tokenizer, _ = tokenizers.train(data, text.src[:50], text.tgt[:50])
        for sentence in [*text.src[:40], *text.tgt[:40]]:
            ids = tokenizer.encode(sentence)
            words, parts = words_of(tokenizer, ids)
            assert words == aligned_tokens(sentence)
            assert (parts.sum(1) == 1).all()
            of = parts.argmax(1).tolist()
            assert of == sorted(of)
            assert set(of) == set(range(len(words)))
            for number, word in enumerate(words):
                pieces = [i for i, each in zip(ids, of, strict=True) if each == number]
                assert tokenizer.decode(pieces).strip() == word


def test_rows_are_averaged_and_columns_shared_out(tiny_folder: Path) -> None:
    translator = Translator.load(tiny_folder)
    pair = Pair(translator, "The young policewoman sleeps.", "La jeune policière dort.")
    src_len, tgt_len = pair.src.shape[1], pair.tgt_in.shape[1]
    assert pair.of_src_words.shape == (src_len, 6)
    torch.testing.assert_close(pair.of_src_words.sum(1), torch.ones(src_len))
    assert pair.of_tgt_words.shape == (5, tgt_len - 1)
    torch.testing.assert_close(pair.of_tgt_words.sum(1), torch.ones(5))
    torch.testing.assert_close(pair.by_src_words.sum(1), torch.ones(5))
    assert pair.by_src_words.shape == (5, src_len - 1)
    maps = pair.maps()
    assert maps.cross.shape[-2:] == (tgt_len, src_len)
    torch.testing.assert_close(maps.encoder.sum(-1), torch.ones(maps.encoder.shape[:-1]))
