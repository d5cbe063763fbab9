"""Questions about heads: heads made to look somewhere are found to look there."""

from pathlib import Path

import pytest
import torch

from lessonkit.analysis import roles
from lessonkit.analysis import word_pairs as wp
from lessonkit.analysis.alignment import word_attention
from lessonkit.analysis.roles import ask
from transformer.data import embedded as reader
from transformer.model import AttentionMaps
from transformer.models.translator import Translator
from transformer.support.errors import UserError

SENTENCES = reader.sentences("test")[:12]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("demo-en-fr")


def looking(kind: str, q_len: int, k_len: int) -> torch.Tensor:
    """Weights (q_len, k_len) of a head that always looks in the same way."""
    if kind == "even":
        return torch.full((q_len, k_len), 1 / k_len)
    shift = {"itself": 0, "before": -1, "next": 1}[kind]
    places = (torch.arange(q_len) + shift).clamp(0, k_len - 1)
    return torch.eye(k_len)[places]


def test_heads_of_known_habits(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tokens of these sentences' words: with one piece each the answers are 0 and 1."""
    kinds = ("itself", "before", "next", "even")

    def maps(src: torch.Tensor, tgt_in: torch.Tensor) -> AttentionMaps:
        sizes = {
            "encoder": (src.shape[1], src.shape[1]),
            "decoder": (tgt_in.shape[1], tgt_in.shape[1]),
            "cross": (tgt_in.shape[1], src.shape[1]),
        }
        stacks = {
            name: torch.stack([looking(kind, *size) for kind in kinds])[None, None]
            for name, size in sizes.items()
        }
        return AttentionMaps(**stacks)

    tokenizer = translator.src_tokenizer
    short = [s for s in reader.sentences("test")[:300] if _one_piece_each(tokenizer, s.en)][:9]
    assert len(short) == 9
    monkeypatch.setattr(translator.model, "attention_maps", maps)
    found = {(each.stack, each.question): each for each in ask(translator, short)}
    for question, habit in ((wp.ITSELF, 0), (wp.BEFORE, 1), (wp.NEXT, 2)):
        shares = found["encoder", question].shares[0]
        assert shares[habit] == 1
        assert all(shares[head] < 0.25 for head in range(3) if head != habit)  # the first word
        assert float(shares[3]) == pytest.approx(found["encoder", question].even)
    assert found["decoder", roles.READ].shares[0].tolist()[:2] == [1, 0]
    assert found["decoder", roles.READ_BEFORE].shares[0].tolist()[:2] == [0, 1]
    words = sum(len(one.en.split()) for one in short)
    assert found["encoder", wp.ITSELF].cases == words
    assert found["encoder", wp.NEXT].cases == words - len(short)


def _one_piece_each(tokenizer: object, text: str) -> bool:
    ids = tokenizer.encode(reader.as_written(text, "en"))  # type: ignore[attr-defined]
    return len(ids) == len(text.split())


def test_the_word_being_said(translator: Translator) -> None:
    """The oracle: word by word from `word_attention` and the gold links."""
    text = reader.pairs("test", "en", "fr")
    found = {each.question: each for each in ask(translator, SENTENCES)}
    shares: dict[str, list[torch.Tensor]] = {roles.SAYING: [], roles.SAID: []}
    for row in range(len(SENTENCES)):
        weights = word_attention(translator, text.src[row], text.tgt[row]).weights
        links = text.alignments[row]
        for word in range(1, weights.shape[2]):
            now, last = ({s for s, t in links if t == at} for at in (word, word - 1))
            if now and last and not now & last:
                for question, named in ((roles.SAYING, now), (roles.SAID, last)):
                    shares[question].append(weights[:, :, word, sorted(named)].sum(-1))
    for question, values in shares.items():
        assert found[question].cases == len(values) > 50
        torch.testing.assert_close(found[question].shares, torch.stack(values).mean(0))


def test_what_the_lesson_says_of_the_shipped_model(translator: Translator) -> None:
    found = {each.question: each for each in ask(translator, reader.sentences("test")[:150])}
    to_noun = found[wp.PAST_ADJECTIVE]
    assert to_noun.shares[1, 2] > 0.6 > 5 * to_noun.even
    assert found[wp.ADJECTIVE].shares[1, 2] < 0.2
    assert found[roles.READ].shares[0, 2] > 0.6
    assert found[roles.SAYING].shares.min() > 0.5


def test_trees_are_english(tiny_folder: Path) -> None:
    with pytest.raises(UserError, match="give at least one"):
        ask(Translator.load(tiny_folder), [])
    answers = ask(Translator.load("demo-fr-en"), SENTENCES[:2])
    assert {each.stack for each in answers} == {"decoder", "cross"}
