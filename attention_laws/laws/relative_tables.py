"""Tables of relative positions: which row each distance has (not in the paper).

T5's map of distances to rows is that of Raffel et al., 2020, https://arxiv.org/abs/1910.10683.
"""

import contextlib
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from attention_laws.law import assert_not_none, law
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import MODEL_ERROR_TYPES, Subject

LAW_MODULE_SORT_KEY = 66
SHORT_LEN = 20
# Lengths at which far distances are tried, the longest that the model takes.
LONG_LENS = (140, 60, 40, SHORT_LEN)
LOOKUP_CALL_NAMES = {"getitem", "embedding", "index_select"}
MAX_IDLE_SHARE = 0.25  # of rows; T5 has one more, that of distance 0 on the far side
ROUNDING = 1e-4  # of a logarithm in float32
NOT_SEEN_REASON = "no table was seen that is read at distances"


class _RelativeTable(NamedTuple):
    """A table as one attention reads it."""

    table: Tensor
    name: str
    before: list[int]  # the row of each distance from a query back to a key, from 0 on
    after: list[int]  # the same forward; empty if a query reads nothing after itself

    @property
    def sides(self) -> list[list[int]]:
        """The rows from distance 0 on, of each direction that is read."""
        return [self.before, self.after] if self.after else [self.before]

    def distances_of_row(self, row: int) -> set[int]:
        """Return the distances that have a row, those forward as negative numbers."""
        back = {distance for distance, x in enumerate(self.before) if x == row}
        return back | {-distance for distance, x in enumerate(self.after) if x == row}


@law("module", compares=False)
def relative_positions_have_rows_in_order(subject: Subject) -> Finding:
    """In a table of relative positions near distances have a row each, and far ones share one.

    Means: the map from distances to rows is wrong: rows are skipped, come back, or are never read;
    or one table serves two maps, as if the encoder's were the decoder's
    Look: at the function that returns the row of a distance: print it for 0 to 20
    """
    tables = _relative_tables_of_forward(subject)
    if not tables:
        return not_tried_finding(NOT_SEEN_REASON)
    for table in tables:
        fault = _describe_fault_of_rows(table)
        if fault:
            return broken_finding(f"{table.name}: {fault}")
    for i, one in enumerate(tables):
        for other in tables[i + 1 :]:
            for row in {x for side in one.sides for x in side} if one.table is other.table else ():
                pair = one.distances_of_row(row), other.distances_of_row(row)
                if all(pair) and not pair[0] & pair[1]:
                    nearest = [min(distances, key=abs) for distances in pair]
                    seen = f"row {row} is distance {nearest[0]} in one attention"
                    return broken_finding(f"{one.name}: {seen} and {nearest[1]} in another")
    names = ", ".join(dict.fromkeys(table.name for table in tables))
    return kept_finding(f"{names}: distances up to {len(tables[0].before) - 1} have rows in order")


@law("module", "relative_max_distance", compares=False)
def relative_positions_have_t5_rows(subject: Subject) -> Finding:
    """Distances share rows as in T5: exact if near, in logarithms up to the greatest distance.

    Means: a logarithm, the number of exact rows or the greatest distance is another
    Look: at the function that returns the row of a distance, beside T5's
    """
    farthest = assert_not_none(subject.adapter.relative_max_distance)
    tables = _relative_tables_of_forward(subject)
    if not tables:
        error = _error_of_far_lookup(subject)
        if error:
            return broken_finding(
                f"a sentence of {SHORT_LEN} words raises where rows are read: {error}"
            )
        return not_tried_finding(NOT_SEEN_REASON)
    for table in tables:
        rows = len(table.table) // len(table.sides)
        for side in table.sides:
            expected = [_t5_rows(distance, rows, farthest) for distance in range(len(side))]
            # Distance 0 is on both sides, and beside no other.
            for distance in range(2, len(side)):
                same = side[distance] == side[distance - 1]
                near, far = expected[distance - 1 : distance + 1]
                if not (near & far if same else any(a != b for a in near for b in far)):
                    seen = "share a row" if same else "have rows of their own"
                    seen = f"distances {distance - 1} and {distance} {seen}"
                    where = f"with {rows} rows a side up to {farthest}"
                    return broken_finding(f"{table.name}: {seen}, and not in T5 {where}")
    return kept_finding(f"{len(tables)} tables are read as T5 reads them, up to {farthest}")


def _t5_rows(distance: int, rows: int, farthest: int) -> set[int]:
    """Return the row of a distance on one side, as T5 has it; both where rounding decides."""
    exact = rows // 2
    if distance < exact:
        return {distance}
    place = math.log(distance / exact) / math.log(farthest / exact) * (rows - exact)
    return {min(rows - 1, exact + int(place + error)) for error in (-ROUNDING, ROUNDING)}


def _describe_fault_of_rows(table: _RelativeTable) -> str:
    """Return what is wrong with the rows of one table; an empty string if nothing is."""
    for sign, side in zip((1, -1), table.sides, strict=False):
        # Where all rows are coarse, the next ones hold as many.
        if side[1] == side[0] and side.count(side[0]) > _distances_of_next_row(side):
            return f"distances 0 and {sign} share row {side[0]}"
        for distance in range(2, len(side)):
            row, previous = side[distance], side[distance - 1]
            if row != previous and row in side[:distance]:
                earlier = sign * side.index(row)
                seen = f"distance {sign * distance} has the row of {earlier} again"
                return f"{seen}, and {sign * (distance - 1)} another"
            if abs(row - previous) > 1:
                skipped = f"row {previous + (1 if row > previous else -1)}"
                distances = f"distance {sign * (distance - 1)} and {sign * distance}"
                return f"{skipped} is skipped between {distances}"
    read = {row % len(table.table) for side in table.sides for row in side}
    idle = len(table.table) - len(read)
    # Only where far distances share a row can no longer sentence read more.
    is_settled = all(len(set(side[-len(side) // 4 :])) == 1 for side in table.sides)
    if is_settled and idle > max(1, MAX_IDLE_SHARE * len(table.table)):
        return f"{idle} of {len(table.table)} rows are never read"
    return ""


def _distances_of_next_row(side: list[int]) -> int:
    """Return how many distances have the row after that of distance 0; 0 if there is none."""
    others = [row for row in side if row != side[0]]
    return others.count(others[0]) if others else 0


def _relative_tables_of_forward(subject: Subject) -> list[_RelativeTable]:
    """Return the tables that a pass reads at distances, at the greatest length that it takes."""
    # A model may take no sentence of this length, or of one length alone.
    with contextlib.suppress(*MODEL_ERROR_TYPES):
        if not _relative_tables_at_length(subject, SHORT_LEN):
            return []
        for length in LONG_LENS:
            with contextlib.suppress(*MODEL_ERROR_TYPES):
                return _relative_tables_at_length(subject, length)
    return []


def _error_of_far_lookup(subject: Subject) -> str:
    """Return what is raised where a table is read at distances; an empty string if nothing is."""
    with _LookupRecorder(SHORT_LEN) as recorder, contextlib.suppress(*MODEL_ERROR_TYPES):
        subject.logits(subject.draw_src(1, SHORT_LEN), subject.draw_tgt_in(1, SHORT_LEN))
    return recorder.error


def _relative_tables_at_length(subject: Subject, length: int) -> list[_RelativeTable]:
    with _LookupRecorder(length) as recorder:
        subject.logits(subject.draw_src(1, length), subject.draw_tgt_in(1, length))
    names = {id(weight): name for name, weight in subject.module.named_parameters()}
    tables = []
    for table, rows in recorder.lookups:
        if id(table) in names:
            before, after = rows[:, 0].tolist(), rows[0].tolist()
            # Whatever follows is hidden if it all has the row of distance 0.
            is_one_sided = len(set(after)) == 1
            tables.append(
                _RelativeTable(table, names[id(table)], before, [] if is_one_sided else after)
            )
    return tables


class _LookupRecorder(TorchFunctionMode):
    """Record the tables that are read in a block at (length, length) rows, equal on diagonals."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length
        self.lookups: list[tuple[Tensor, Tensor]] = []
        self.error = ""  # what was raised by the newest table that was read so

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "").strip("_") in LOOKUP_CALL_NAMES:
            before = len(self.lookups)
            self._record(args)
            try:
                return func(*args, **(kwargs or {}))
            except MODEL_ERROR_TYPES as error:
                if len(self.lookups) > before:
                    self.error = str(error)[:100]
                raise
        return func(*args, **(kwargs or {}))

    def _record(self, args: Sequence[Any]) -> None:
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        tables = [x for x in tensors if x.is_floating_point() and x.requires_grad]
        indices = [x.squeeze() for x in tensors if x.dtype in (torch.int64, torch.int32)]
        if len(tables) == len(indices) == 1 and indices[0].shape == (self.length, self.length):
            rows = indices[0]
            is_of_distances = torch.equal(rows[1:, 1:], rows[:-1, :-1])
            if is_of_distances and len(rows.unique()) > 1:
                self.lookups.append((tables[0], rows))
