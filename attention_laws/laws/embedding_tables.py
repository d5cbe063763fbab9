"""Words and positions are looked up in tables of their own (§3.4, §3.5)."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attention_laws.law import law
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 72
SRC_LEN, TGT_LEN = 7, 5


class _Lookup(NamedTuple):
    """One look-up: where the table is stored, how long it is, and what was looked up."""

    table: int
    table_length: int
    ids: Tensor


class _LookupRecorder(TorchDispatchMode):
    """Record the look-ups of embeddings in a block."""

    def __init__(self) -> None:
        super().__init__()
        self.lookups: list[_Lookup] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__.partition(".")[0] == "embedding":
            table, ids = args[:2]
            self.lookups.append(_Lookup(table.data_ptr(), len(table), ids.clone()))
        return func(*args, **(kwargs or {}))


@law("module")
def positions_have_a_table_of_their_own(subject: Subject) -> Finding:
    """Positions are not looked up in the table of words.

    Means: one embedding stands in two places: position 5 is word 5, and neither can be learned
    Look: at where the embeddings are made and assigned
    How: What is looked up in both of two passes with other words is no word.
    """
    lookups = []
    for _ in range(2):
        inputs = subject.draw_src(1, SRC_LEN), subject.draw_tgt_in(1, TGT_LEN)
        with _LookupRecorder() as recorder:
            subject.logits(*inputs)
        lookups.append(recorder.lookups)
    first, second = lookups
    if not first or [x.table for x in first] != [x.table for x in second]:
        return not_tried_finding("no look-up in an embedding was seen twice")
    tables_of_words, tables_of_positions = set(), set()
    for one, other in zip(first, second, strict=True):
        is_position = one.ids.shape == other.ids.shape and torch.equal(one.ids, other.ids)
        (tables_of_positions if is_position else tables_of_words).add(one.table)
    shared = [x for x in first if x.table in tables_of_words & tables_of_positions]
    if shared:
        return broken_finding(
            f"a table of {shared[0].table_length} rows is read at words and at positions"
        )
    return kept_finding(
        f"{len(tables_of_words)} tables are read at words, {len(tables_of_positions)} at positions"
    )
