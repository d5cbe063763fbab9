"""The toys of exercises refuse what no right answer does."""

import pytest
import torch

import lessonkit.exercises.toys as ex
from lessonkit.exercises.before import BLIND_SPOTS, Decoder
from lessonkit.exercises.both_ways import FAULTS, Trainer
from lessonkit.exercises.outcome import BrokenRuleError
from lessonkit.exercises.toys import MAX_PLACES, MAX_SEARCHED, Blocks, Parrot, Reader, Table
from tests.helpers.exercise_walk import ALL
from transformer.config import BOS_ID, EOS_ID


def test_a_toy_ends_a_loop_that_has_no_end() -> None:
    def endless(next_scores, limit):
        while True:
            next_scores([BOS_ID])

    assert f"asked {MAX_SEARCHED} times" in repr(ALL["most_probable"].check(endless))
    with pytest.raises(ValueError, match="bos first"):
        Table({BOS_ID: {EOS_ID: 1.0}})([4])


def test_blocks_are_read_as_a_list_is_but_once() -> None:
    blocks, other = Blocks(3, 5), Blocks(3, 5)
    assert (repr(blocks), len(blocks)) == ("ex.Blocks(3, 5)", 3)
    assert blocks[0][1].shape == blocks[-1][1].shape == (5, 1)  # looks at a shape
    assert torch.equal(other[-1][0], blocks[2][0]), "the same numbers each time"
    assert [(key.shape, value.shape) for key, value in blocks] == [((5, 2), (5, 1))] * 3
    assert len(other[1:]) == 2
    for again in (lambda: list(blocks), lambda: other[1:]):
        with pytest.raises(BrokenRuleError, match="a second time"):
            again()


def test_networks_are_written_as_a_lesson_would_make_them() -> None:
    for text in (
        "ex.Layer(6, 3, 2, True)",
        "ex.Layer(2, 1, None, False)",
        "ex.Parrot(7, 5, 3)",
        "ex.Reader(11)",
    ):
        assert repr(eval(text, {"ex": ex})) == text
    assert repr(Trainer("uphill", 1)) == "ex.Trainer('uphill', 1)"
    assert repr(Decoder("sees padding", 5)) == "ex.Decoder('sees padding', 5)"


def test_a_parrot_drops_in_training_alone() -> None:
    model, ids = Parrot(7, 3, seed=1), torch.tensor([[2, 4]])
    assert not model.training
    whole = model(ids, ids)
    torch.testing.assert_close(
        whole[0, 1], (model.embedding[4] + model.embedding[2]) @ model.output
    )
    assert not torch.allclose(model.train()(ids, ids), whole)
    assert Parrot(7, 3)(ids, ids).eq(0).all()


def test_a_reader_reads_once_and_scores_what_follows_each_token() -> None:
    src, mask = torch.tensor([[5, 4, 3]]), torch.ones(1, 1, 1, 3, dtype=torch.bool)
    copier, reader = Reader(None), Reader(3)
    memory = copier.encode(src, mask)
    for given in ([[4]], [[]], [[2] * (MAX_PLACES + 1)]):
        with pytest.raises(ValueError, match="give all tokens, bos first"):
            copier.decode(torch.tensor(given), memory, mask)
    with pytest.raises(ValueError, match="no mask"):
        copier.decode(torch.tensor([[2]]), memory, src)
    with pytest.raises(BrokenRuleError, match="it reads the source a second time"):
        copier.encode(src, mask)
    written = torch.tensor([[2, 5, 4]])
    assert copier.decode(written, memory, mask).argmax(dim=-1).tolist() == src.tolist()
    logits = reader.decode(written, reader.encode(src, mask), mask)
    assert logits.shape == (1, 3, 7)
    assert logits[0, :, [0, 2]].isinf().all(), "no pad, no bos"
    assert torch.equal(logits[:, :2], reader.decode(written[:, :2], memory, mask))
    other = reader.decode(torch.tensor([[2, 6, 4]]), memory, mask)
    assert not torch.allclose(logits[0, 2, 3:], other[0, 2, 3:]), "earlier tokens count"


def test_a_trainer_has_its_fault_and_a_decoder_its_blind_spot() -> None:
    for fault in FAULTS:
        trainer = Trainer(fault, 2)
        start = {name: weight.clone() for name, weight in trainer.state_dict().items()}
        losses = [trainer.step() for _ in range(5)]
        moved = sum(not torch.equal(start[name], end) for name, end in trainer.state_dict().items())
        assert moved == {"nothing moves": 0, "some weights stay": 1}.get(fault, 2), fault
        assert losses == sorted(losses, reverse=fault != "uphill"), fault
        assert Trainer("none", 2).step() == losses[0], "the same before the first step"
    src, tgt, later = torch.tensor([4, 7]), torch.tensor([2, 5, 6]), torch.tensor([2, 5, 8])
    for spot in BLIND_SPOTS:
        decode = Decoder(spot, 1)
        logits = decode(src, tgt)
        assert logits.shape == (3, 9)
        ahead = not torch.allclose(decode(src, later)[:2], logits[:2])
        padding = not torch.allclose(decode(torch.tensor([4, 7, 0]), tgt), logits)
        deaf = torch.allclose(decode(src.flip(0), tgt), logits)
        assert (ahead, padding, deaf) == tuple(spot == each for each in BLIND_SPOTS[1:])
