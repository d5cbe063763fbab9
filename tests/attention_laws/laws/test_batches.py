from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from attention_laws import Verdict
from attention_laws.laws import batches
from tests.attention_laws.trying import small, tried
from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.data.batches import Example, collate

NAMES = [law.name for law in batches.LAWS]
MARKS, SHIFT, END, SOURCE = NAMES
Ids = Sequence[list[int]]
Made = tuple[Tensor, Tensor, Tensor]


def ours(sources: Ids, targets: Ids) -> Made:
    batch = collate([Example(*pair) for pair in zip(sources, targets, strict=True)])
    return batch.src, batch.tgt_in, batch.tgt_out


def padded(rows: Ids, pad_id: int = PAD_ID) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows])


def cut_in_two(sources: Ids, targets: Ids) -> Made:
    """As torchtext's users do: whole sentences are padded, then the last and the first cut off."""
    whole = padded([[BOS_ID, *each, EOS_ID] for each in targets])
    return padded([[BOS_ID, *each, EOS_ID] for each in sources]), whole[:, :-1], whole[:, 1:]


def test_kept_by_batches_that_are_cut_in_two() -> None:
    for name in NAMES:
        assert tried(small().replace(make_batch=cut_in_two), name).verdict == Verdict.KEPT


def made_of(change: Callable[[Tensor, Tensor, Tensor], Made]) -> Callable[[Ids, Ids], Made]:
    return lambda sources, targets: change(*ours(sources, targets))


@pytest.mark.parametrize(
    ("change", "name", "seen"),
    [
        (lambda src, read, said: (src, read, shown(said)), MARKS, "says bos"),
        (lambda src, read, said: (src, read[:, :-1], said[:, 1:]), SHIFT, "tgt_in [2, "),
        (lambda src, read, said: (src, read, said[:, 1:]), SHIFT, "tgt_in is (3, 7)"),
        (lambda src, read, said: (src, read, filled(said)), END, "goes on after eos"),
        (lambda src, read, said: (src, filled(read), said), END, "goes on after the target"),
        (lambda src, read, said: (src.flip(1), read, said), SOURCE, "src is"),
        (lambda src, read, said: (src[:, :2], read, said), SOURCE, "src is"),
        (lambda src, read, said: (filled(src), read, said), SOURCE, "with more than marks"),
    ],
)
def test_a_wrong_batch_is_found(
    change: Callable[[Tensor, Tensor, Tensor], Made], name: str, seen: str
) -> None:
    line = tried(small().replace(make_batch=made_of(change)), name)
    assert line.verdict == Verdict.BROKEN
    assert seen in line.seen


def filled(ids: Tensor) -> Tensor:
    """Fill up with a word in place of padding."""
    return ids.masked_fill(ids == PAD_ID, 9)


def shown(ids: Tensor) -> Tensor:
    """Ask for bos, too."""
    return torch.cat((torch.full((len(ids), 1), BOS_ID), ids), dim=1)


def test_sources_without_an_end_mark_are_warned_of() -> None:
    def bare(sources: Ids, targets: Ids) -> Made:
        return padded(sources), *ours(sources, targets)[1:]

    line = tried(small().replace(make_batch=bare), SOURCE)
    assert line.verdict == Verdict.WARNED
    assert line.seen.startswith("no source of 3")
