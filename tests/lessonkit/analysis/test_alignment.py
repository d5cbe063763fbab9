"""Attention between words, links and their error; other witnesses, where the answer is known."""

import pytest
import torch

from lessonkit.analysis import alignment
from lessonkit.analysis.interventions import SourceMaskedModel
from transformer.config import BOS_ID, DataConfig
from transformer.data import corpora, tokenizers
from transformer.data.parallel import tokenize_for_alignment
from transformer.data.tokenizers import BPETokenizer
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.folder import ModelDescription
from transformer.models.translator import Translator
from transformer.support.errors import UserError

SRC, TGT = "The young policewoman sleeps.", "La jeune policière dort."


def test_pieces_find_their_words_in_every_sentence() -> None:
    text = corpora.load("embedded", "test", "en", "fr")
    for size in (260, 3000):
        data = DataConfig(corpus="embedded", src_lang="en", tgt_lang="fr", vocab_size=size)
        tokenizer, _ = tokenizers.train(data, text.src[:50], text.tgt[:50])
        for sentence in [*text.src[:40], *text.tgt[:40]]:
            ids = tokenizer.encode(sentence)
            words, parts = alignment.words_and_piece_membership(tokenizer, ids)
            assert words == tokenize_for_alignment(sentence)
            assert (parts.sum(1) == 1).all()
            of = parts.argmax(1).tolist()
            assert of == sorted(of)
            for number, word in enumerate(words):
                pieces = [i for i, each in zip(ids, of, strict=True) if each == number]
                assert tokenizer.decode(pieces).strip() == word


def test_word_weights_are_sums_of_columns_and_means_of_rows(tiny: Translator) -> None:
    result, pair = alignment.word_attention(tiny, SRC, TGT), alignment.SentencePair(tiny, SRC, TGT)
    assert result.src_words == ["The", "young", "policewoman", "sleeps", "."]
    assert result.tgt_words == ["La", "jeune", "policière", "dort", "."]
    torch.testing.assert_close(result.weights.sum(-1), torch.ones(1, 2, 5))

    cross = pair.attention_maps().cross[0]
    _, src_parts = alignment.words_and_piece_membership(
        tiny.src_tokenizer, pair.src[0, :-1].tolist()
    )
    _, tgt_parts = alignment.words_and_piece_membership(
        tiny.tgt_tokenizer, pair.tgt_in[0, 1:].tolist()
    )
    rows = tgt_parts[:, 2].nonzero().flatten().tolist()  # the row before the token says it
    columns = src_parts[:, 2].nonzero().flatten().tolist()
    assert min(len(rows), len(columns)) > 1
    expected = cross[:, rows][:, :, columns].sum(-1).mean(-1)
    torch.testing.assert_close(result.weights[0, :, 2, 2], expected)
    torch.testing.assert_close(result.weights[0, :, 2, -1], cross[:, rows, -1].mean(-1))
    reads = alignment.word_attention(tiny, SRC, TGT, of_reader=True).weights
    torch.testing.assert_close(reads[0, :, -1, -1], cross[:, -1, -1])  # the stop is one piece
    torch.testing.assert_close(pair.src_word_mean_matrix.sum(1), torch.ones(5))


def test_a_piece_of_several_words_is_a_piece_of_each(tiny: Translator) -> None:
    dots = BPETokenizer([(".", "."), ("..", ".")])  # single bytes, but "..." is one piece
    reader = Translator(ModelDescription(tiny.recipe, dots, dots), tiny.model)
    src, tgt = "Yes... no", "Yes ... so?"
    result = alignment.word_attention(reader, src, tgt)
    assert result.src_words == ["Yes", ".", ".", ".", "no"]
    assert result.tgt_words == ["Yes", ".", ".", ".", "so", "?"]
    torch.testing.assert_close(result.weights.sum(-1), torch.ones(1, 2, 6))
    cross = alignment.SentencePair(reader, src, tgt).attention_maps().cross[0]
    # The source's "..." is piece 4; the target's is piece 5, after a blank of its own.
    shared = (cross[:, 5, 4] / 3)[:, None, None].expand(2, 2, 3)
    torch.testing.assert_close(result.weights[0, :, 2:4, 1:4], shared)
    torch.testing.assert_close(result.weights[0, :, 2, -1], cross[:, 5, -1])


def test_links_and_error_rate_by_hand() -> None:
    weights = torch.tensor([[0.1, 0.7, 0.2], [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    # Three target words, two source words and eos: the second target word gets no link.
    assert alignment.strongest_links(weights) == {(1, 0), (0, 2)}
    assert alignment.diagonal_links(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert alignment.diagonal_links(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert alignment.diagonal_links(4, 2) == {(0, 0), (2, 1)}
    found = [frozenset({(0, 0), (1, 1)}), frozenset({(0, 1)})]
    gold = [frozenset({(0, 0), (1, 2), (2, 2)}), frozenset({(0, 1), (1, 0)})]
    # 2 right of 3 found and 5 gold: 1 - 2 * 2 / 8.
    assert alignment.alignment_error_rate(found, gold) == pytest.approx(0.5)
    assert alignment.alignment_error_rate(gold, gold) == 0
    assert alignment.alignment_error_rate([frozenset({(0, 1)})], [frozenset({(1, 0)})]) == 1


def test_errors(tiny: Translator) -> None:
    for src, tgt in (("", TGT), (SRC, " ")):
        with pytest.raises(UserError, match="no words to align"):
            alignment.word_attention(tiny, src, tgt)
    with pytest.raises(UserError, match="1 sentences have links and 2"):
        alignment.alignment_error_rate([frozenset()], [frozenset(), frozenset()])
    with pytest.raises(UserError, match="no links at all"):
        alignment.alignment_error_rate([frozenset()], [frozenset()])


# --- other witnesses than the weights ---

SRC_IDS = torch.tensor([[5, 6, 7, 8, 9, 3]])
TGT_IN = torch.tensor([[BOS_ID, 11, 12, 13]])
SAID = torch.tensor([[11, 12, 13, 14]])


def test_hiding_is_the_loss_when_the_decoder_cannot_look(model: Transformer) -> None:
    mask, rows = padding_mask(SRC_IDS), SAID.T
    with torch.no_grad():
        memory = model.encode(SRC_IDS, mask)
        whole = model.decode(TGT_IN, memory, mask)[0].log_softmax(-1).gather(-1, rows)[:, 0]
        lost = []
        for place in range(6):
            logits = SourceMaskedModel(model, after=[place]).decode(TGT_IN, memory, mask)[0]
            lost.append(whole - logits.log_softmax(-1).gather(-1, rows)[:, 0])
    expected = torch.stack(lost, dim=1).clamp(min=0)
    expected = expected / expected.sum(-1, keepdim=True)
    torch.testing.assert_close(alignment.occlusion_shares(model, SRC_IDS, TGT_IN, SAID), expected)


def test_words_lose_most_with_their_own(shipped: Translator) -> None:
    src, tgt = "The clever saleswoman is reading.", "La vendeuse intelligente lit."
    found = alignment.word_occlusion(shipped, src, tgt)
    known = alignment.word_attention(shipped, src, tgt)
    assert (found.src_words, found.tgt_words) == (known.src_words, known.tgt_words)
    assert found.weights.shape == (1, 1, 5, 7)
    assert found.weights[0, 0, 1].argmax() == 2  # vendeuse takes most from saleswoman
