"""Alignments from attention: pieces become words, rows keep their sums, the error is counted."""

from pathlib import Path

import pytest
import torch

from lessonkit.analysis.alignment import (
    Pair,
    alignment_error_rate,
    diagonal_links,
    strongest_links,
    word_attention,
    words_of,
)
from transformer.config import BOS_ID, DataConfig
from transformer.data import corpora, tokenizers
from transformer.data.batches import collate_sources
from transformer.data.bpe import BPETokenizer
from transformer.data.parallel import aligned_tokens
from transformer.models.folder import Description
from transformer.models.translator import Translator
from transformer.support.errors import UserError

SRC, TGT = "The young policewoman sleeps.", "La jeune policière dort."


@pytest.fixture(scope="module")
def translator(tiny_folder: Path) -> Translator:
    return Translator.load(tiny_folder)


def test_word_weights_are_sums_of_columns_and_means_of_rows(translator: Translator) -> None:
    result = word_attention(translator, SRC, TGT)
    assert result.src_words == ["The", "young", "policewoman", "sleeps", "."]
    assert result.tgt_words == ["La", "jeune", "policière", "dort", "."]
    assert result.weights.shape == (1, 2, 5, 6)
    torch.testing.assert_close(result.weights.sum(-1), torch.ones(1, 2, 5))

    src_ids, tgt_ids = (
        translator.src_tokenizer.encode(SRC),
        translator.tgt_tokenizer.encode(TGT),
    )
    tgt_in = torch.tensor([[BOS_ID, *tgt_ids]])
    cross = translator.model.attention_maps(collate_sources([src_ids]), tgt_in).cross[0, 0]
    _, src_parts = words_of(translator.src_tokenizer, src_ids)
    _, tgt_parts = words_of(translator.tgt_tokenizer, tgt_ids)
    rows = tgt_parts[:, 2].nonzero().flatten().tolist()  # the row before the token
    columns = src_parts[:, 2].nonzero().flatten().tolist()
    assert len(rows) > 1
    assert len(columns) > 1
    expected = cross[:, rows][:, :, columns].sum(-1).mean(-1)
    torch.testing.assert_close(result.weights[0, :, 2, 2], expected)
    torch.testing.assert_close(result.weights[0, :, 2, -1], cross[:, rows, -1].mean(-1))


def test_a_piece_of_several_words_is_a_piece_of_each(translator: Translator) -> None:
    dots = BPETokenizer([(".", "."), ("..", ".")])  # single bytes, but "..." is one piece
    reader = Translator(Description(translator.recipe, dots, dots), translator.model)
    src, tgt = "Yes... no", "Yes ... so?"
    assert len(dots.encode(src)) == 4 + 1 + 3
    result = word_attention(reader, src, tgt)
    assert result.src_words == ["Yes", ".", ".", ".", "no"]
    assert result.tgt_words == ["Yes", ".", ".", ".", "so", "?"]
    torch.testing.assert_close(result.weights.sum(-1), torch.ones(1, 2, 6))

    tgt_in = torch.tensor([[BOS_ID, *dots.encode(tgt)]])
    cross = translator.model.attention_maps(collate_sources([dots.encode(src)]), tgt_in).cross[0, 0]
    # The source's "..." is piece 4; the target's is piece 5, after a blank of its own.
    shared = (cross[:, 5, 4] / 3)[:, None, None].expand(2, 2, 3)
    torch.testing.assert_close(result.weights[0, :, 2:4, 1:4], shared)
    torch.testing.assert_close(result.weights[0, :, 2, -1], cross[:, 5, -1])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_words_attend_on_a_gpu_as_on_the_cpu(tiny_folder: Path) -> None:
    here = word_attention(Translator.load(tiny_folder), SRC, TGT).weights
    there = word_attention(Translator.load(tiny_folder, "cuda"), SRC, TGT).weights
    torch.testing.assert_close(there, here, rtol=1e-3, atol=1e-4)


def test_of_reader_takes_the_rows_one_later(translator: Translator) -> None:
    src_ids, tgt_ids = (
        translator.src_tokenizer.encode(SRC),
        translator.tgt_tokenizer.encode(TGT),
    )
    tgt_in = torch.tensor([[BOS_ID, *tgt_ids]])
    cross = translator.model.attention_maps(collate_sources([src_ids]), tgt_in).cross[0, 0]
    last = word_attention(translator, SRC, TGT, of_reader=True).weights[0, :, -1, -1]
    torch.testing.assert_close(last, cross[:, -1, -1])  # the full stop is one piece
    said = word_attention(translator, SRC, TGT).weights[0, :, -1, -1]
    torch.testing.assert_close(said, cross[:, -2, -1])


@pytest.mark.parametrize(("src", "tgt"), [("", TGT), (SRC, " ")])
def test_a_side_without_words_is_refused(translator: Translator, src: str, tgt: str) -> None:
    with pytest.raises(UserError, match="no words to align"):
        word_attention(translator, src, tgt)


def test_strongest_links_by_hand() -> None:
    weights = torch.tensor([[0.1, 0.7, 0.2], [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    # Three target words, two source words and eos: the second target word gets no link.
    assert strongest_links(weights) == {(1, 0), (0, 2)}


def test_diagonal_links() -> None:
    assert diagonal_links(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert diagonal_links(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert diagonal_links(4, 2) == {(0, 0), (2, 1)}


def test_error_rate_by_hand() -> None:
    found = [frozenset({(0, 0), (1, 1)}), frozenset({(0, 1)})]
    gold = [frozenset({(0, 0), (1, 2), (2, 2)}), frozenset({(0, 1), (1, 0)})]
    # 2 right of 3 found and 5 gold: 1 - 2 * 2 / 8.
    assert alignment_error_rate(found, gold) == pytest.approx(0.5)
    assert alignment_error_rate(gold, gold) == 0
    assert alignment_error_rate([frozenset()], [frozenset({(0, 0)})]) == 1


def test_error_rate_tells_source_from_target() -> None:
    assert alignment_error_rate([frozenset({(0, 1)})], [frozenset({(1, 0)})]) == 1


def test_error_rate_refuses_what_it_cannot_count() -> None:
    with pytest.raises(UserError, match="1 sentences have links and 2"):
        alignment_error_rate([frozenset()], [frozenset(), frozenset()])
    with pytest.raises(UserError, match="no links at all"):
        alignment_error_rate([frozenset()], [frozenset()])


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
