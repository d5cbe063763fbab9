"""Table 3 as the package holds it: complete, and its configurations count as the paper's do."""

from collections import Counter
from typing import Any

import pytest

from lessonkit.analysis.table_3 import SHARED_TYPES, TABLE_3, Variation, expected_parameters
from transformer.config import ModelConfig, Positions
from transformer.model import Transformer, count_parameters


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


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pre_norm": True, "attention_bias": True, "output_bias": True},
        {"tie_source_target": False, "positions": Positions.LEARNED},
        {"tie_source_target": False, "tie_softmax": False, "d_k": 3, "d_v": 5},
        {"positions": Positions.CONCATENATED, "position_dim": 7, "tie_softmax": False},
    ],
)
def test_parameters_by_formula_and_by_counting(changes: dict[str, Any]) -> None:
    src_vocab = 41 if changes.get("tie_source_target") is False else 37
    config = ModelConfig(d_model=26, num_heads=13, d_ff=41, num_layers=3, max_len=43, **changes)
    model = Transformer(config, src_vocab_size=src_vocab, tgt_vocab_size=37)
    assert count_parameters(model) == expected_parameters(config, src_vocab, 37)


def test_parameters_of_the_papers_models_and_of_system_4() -> None:
    big = ModelConfig(d_model=1024, d_ff=4096, num_heads=16)
    # Table 3 says 65 and 213 million; with 37,000 shared types the formula gives:
    assert expected_parameters(ModelConfig(), 37_000, 37_000) == 63_045_632
    assert expected_parameters(big, 37_000, 37_000) == 214_171_648
    system_4 = ModelConfig(
        d_model=256, d_ff=512, num_layers=3, positions=Positions.LEARNED, max_len=100,
        tie_source_target=False, tie_softmax=False, attention_bias=True, output_bias=True,
    )  # fmt: skip
    assert expected_parameters(system_4, 7_853, 5_893) == 9_038_341
