import pytest
import torch
from torch import Tensor

from attention_laws import Adapter
from attention_laws.errors import UserError
from attention_laws.law import Subject
from tests.attention_laws.trying import small
from transformer.config import BOS_ID, EOS_ID, PAD_ID


def test_sentences_have_their_marks_and_no_other_special_ids() -> None:
    subject = Subject(small())
    src, tgt_in = subject.src(40, 6), subject.tgt_in(40, 5)
    assert src.shape == (40, 6)
    assert (src[:, -1] == EOS_ID).all()
    assert (tgt_in[:, 0] == BOS_ID).all()
    inner = {*src[:, :-1].flatten().tolist(), *tgt_in[:, 1:].flatten().tolist()}
    assert not inner & {PAD_ID, BOS_ID, EOS_ID}
    assert src.max() < subject.adapter.src_vocab_size <= tgt_in.max()


def test_no_token_stands_twice_in_a_sentence_where_there_are_enough() -> None:
    subject = Subject(small())
    assert all(len(set(row)) == 20 for row in subject.ids(23, 50, 20).tolist())
    assert subject.ids(23, 2, 21).shape == (2, 21)  # one more than there are


@pytest.mark.parametrize("special", [(5, 6, 7), (22, 0, 11), (None, 1, 1)])
def test_special_ids_may_be_any(special: tuple[int | None, int, int]) -> None:
    pad_id, bos_id, eos_id = special
    adapter = small().replace(pad_id=pad_id, bos_id=bos_id, eos_id=eos_id)
    subject = Subject(adapter)
    assert not set(subject.ids(23, 20).tolist()) & set(special)
    assert subject.other_id(3, 23) not in (3, *special)


def test_a_seed_draws_the_same_sentences() -> None:
    one, same, other = (Subject(small(), seed).src(3, 9) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_what_counts_as_a_difference_grows_with_the_logits(size: float) -> None:
    forward = small().forward
    adapter = small().replace(forward=lambda *ids: size * forward(*ids), module=None)
    logits = Subject(adapter).logits(torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7]]))
    largest = float(logits.abs().max())
    assert 1e-6 * largest < Subject(adapter).tolerance < 1e-3 * largest


def test_a_difference_within_the_tolerance_is_none() -> None:
    subject = Subject(small())
    zero, nan = torch.zeros(3), torch.tensor([0.0, torch.nan, 0.0])
    assert subject.differ(zero, zero + subject.tolerance / 2) == 0
    assert subject.differ(zero, zero + 2 * subject.tolerance) > 0
    assert subject.differ(zero, nan) != 0


def test_a_model_that_cannot_run_in_64_bits_is_measured_in_32() -> None:
    adapter = small()
    forward = adapter.forward

    def narrow(src: Tensor, tgt_in: Tensor) -> Tensor:
        if next(adapter.module.parameters()).dtype != torch.float32:
            raise RuntimeError("expected Float")
        return forward(src, tgt_in)

    assert 0 < Subject(adapter.replace(forward=narrow)).tolerance < 1e-3


@pytest.mark.parametrize("sizes", [(7, 29), (23, 7)])
def test_a_vocabulary_that_is_too_small_is_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(UserError, match="vocabulary of 7 is too small"):
        Adapter(forward=small().forward, src_vocab_size=sizes[0], tgt_vocab_size=sizes[1])
