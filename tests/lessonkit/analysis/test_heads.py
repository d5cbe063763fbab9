"""Heads: their names, and the table that joins role and cost."""

import pytest

from lessonkit.analysis.heads import Head, all_heads, head_table
from transformer.model import Transformer
from transformer.support.errors import UserError


def test_every_head_is_named_once(model: Transformer) -> None:
    named = all_heads(model)
    assert len(named) == len(set(named)) == 3 * 3 * 2
    assert named[0] == Head("encoder", 1, 1)
    assert named[-1] == Head("cross", 3, 2)
    assert str(Head("cross", 2, 3)) == "cross 2.3"


def test_the_table_joins_roles_and_costs() -> None:
    one = {"role": "a", "score": 0.7, "even": 0.1, "cases": 90, "named": True}
    removed = {"beam": 93.0, "low": -4.0, "high": -2.5}
    removals = {
        "model": "m",
        "figures": {"whole": {"beam": 96.2}, "mean": {"heads": {"cross 1.1": removed}}},
    }
    (row,) = head_table({"model": "m", "figures": {"cross 1.1": one}}, removals)
    assert row == ("cross 1.1", "a", 0.7, 0.1, 90, True, 3.2, 2.5, 4.0)
    with pytest.raises(UserError, match="roles of other beside removals of m"):
        head_table({"model": "other", "figures": {}}, removals)
