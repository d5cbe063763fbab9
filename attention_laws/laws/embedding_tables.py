"""Words and positions are looked up in tables of their own (§3.4, §3.5)."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from attention_laws.law import law
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 72
SRC_LEN, TGT_LEN = 7, 5


class _Lookup(NamedTuple):
    """One look-up: the table, and what was looked up in it."""

    table: Tensor  # kept, so that no other table takes its place in memory
    ids: Tensor

    @property
    def address(self) -> int:
        """Where the table is stored."""
        return self.table.data_ptr()

    @property
    def counts_up(self) -> bool:
        """Whether the ids are consecutive numbers, as positions are."""
        is_row = self.ids.dim() > 0 and self.ids.shape[-1] > 1
        return is_row and bool((self.ids.diff(dim=-1) == 1).all())


class _LookupRecorder(TorchDispatchMode):
    """Record the look-ups of embeddings in a block."""

    def __init__(self) -> None:
        super().__init__()
        self.lookups: list[_Lookup] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__.partition(".")[0] == "embedding":
            table, ids = args[:2]
            self.lookups.append(_Lookup(table.detach(), ids.clone()))
        return func(*args, **(kwargs or {}))


@law("pad_id", compares=False)
def embedding_of_padding_alone_is_not_trained(subject: Subject) -> Finding:
    """The row of an embedding that torch does not train, `padding_idx`, is that of padding.

    Means: `padding_idx` is written out as 0, and padding is another id: the word of that number
    begins as zeros and is never learned
    Look: at `padding_idx` of each nn.Embedding that reads words
    How: Where the sides' padding differs either may be meant, since they may share an embedding.
    """
    src, tgt_in = subject.draw_src(1, SRC_LEN), subject.draw_tgt_in(1, TGT_LEN)
    with _PaddingIndexRecorder() as recorder:
        subject.logits(src, tgt_in)
    pad_ids = {subject.adapter.pad_id, subject.tgt_pad_id}
    count = 0
    for ids, padding_idx in recorder.indices:
        # A table of positions or of kinds of words has its own.
        if not any(torch.equal(ids.flatten(), words.flatten()) for words in (src, tgt_in)):
            continue
        count += 1
        if padding_idx not in pad_ids:
            return broken_finding(
                f"an embedding has padding_idx {padding_idx}, where {pad_ids} pad"
            )
    if not count:
        return not_tried_finding("no embedding of words has a `padding_idx`")
    return kept_finding(f"`padding_idx` of {count} embeddings is that of padding")


class _PaddingIndexRecorder(TorchFunctionMode):
    """Record what is read in a block by embeddings that have a `padding_idx`, and that."""

    def __init__(self) -> None:
        super().__init__()
        self.indices: list[tuple[Tensor, int]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        if getattr(func, "__name__", "") == "embedding" and len(args) > 1:
            padding_idx = args[2] if len(args) > 2 else options.get("padding_idx")
            if padding_idx is not None:
                # Counted from the end if below 0.
                self.indices.append((args[0].clone(), int(padding_idx) % len(args[1])))
        return func(*args, **options)


@law("module")
def positions_have_a_table_of_their_own(subject: Subject) -> Finding:
    """Positions are not looked up in the table of words.

    Means: one embedding stands in two places: position 5 is word 5, and neither can be learned
    Look: at where the embeddings are made and assigned
    How: Consecutive ids that are looked up in both of two passes with other words are positions.
    """
    lookups = []
    for _ in range(2):
        inputs = subject.draw_src(1, SRC_LEN), subject.draw_tgt_in(1, TGT_LEN)
        with _LookupRecorder() as recorder:
            subject.logits(*inputs)
        lookups.append(recorder.lookups)
    first, second = lookups
    if not first or [x.address for x in first] != [x.address for x in second]:
        return not_tried_finding("no look-up in an embedding was seen twice")
    tables_of_words: set[int] = set()
    tables_of_positions: set[int] = set()
    for one, other in zip(first, second, strict=True):
        if not torch.equal(one.ids, other.ids):
            tables_of_words.add(one.address)
        elif one.counts_up:
            tables_of_positions.add(one.address)
    shared = [x.table for x in first if x.address in tables_of_words & tables_of_positions]
    if shared:
        return broken_finding(f"a table of {len(shared[0])} rows is read at words and at positions")
    return kept_finding(
        f"{len(tables_of_words)} tables are read at words, {len(tables_of_positions)} at positions"
    )
