"""Table 3 as the package holds it: complete, and its configurations count as the paper's do."""

from collections import Counter

import pytest

from lessonkit.analysis.table_3 import SHARED_TYPES, TABLE_3, Variation
from transformer.model import expected_parameters


def count(variation: Variation, types: int = SHARED_TYPES) -> float:
    return expected_parameters(variation.config(), types, types) / 1e6


def test_every_row_is_there_once() -> None:
    names = [variation.name for variation in TABLE_3]
    assert len(set(names)) == len(names) == 20
    groups = Counter(name.partition(":")[0] for name in names)
    assert groups == {"base": 1, "A": 4, "B": 2, "C": 7, "D": 4, "E": 1, "big": 1}


def test_a_row_is_near_the_papers_count() -> None:
    for row in TABLE_3:
        assert count(row) == pytest.approx(row.millions or 65, rel=0.07), row.name


def test_one_vocabulary_gives_every_count_but_the_big_models() -> None:
    fitting = [
        types
        for types in range(36_000, 43_000)
        if all(round(count(v, types)) == v.millions for v in TABLE_3[:-1] if v.millions)
    ]
    assert (fitting[0], fitting[-1]) == (41_004, 41_208)
    assert round(count(TABLE_3[-1], fitting[0])) != TABLE_3[-1].millions


def test_heads_of_group_a_keep_the_width() -> None:
    for variation in TABLE_3:
        if variation.name.startswith("A"):
            config = variation.config()
            assert config.num_heads * config.key_size == config.d_model
            assert config.value_size == config.key_size
