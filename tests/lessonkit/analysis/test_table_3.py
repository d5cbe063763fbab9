"""Table 3 as the paper has it, and parameters by formula and by counting."""

from collections import Counter

import pytest

from lessonkit.analysis.table_3 import SHARED_VOCAB_SIZE, TABLE_3, expected_num_parameters
from transformer.config import ModelConfig
from transformer.model import Transformer, count_parameters


def test_every_row_is_there_once_and_near_the_papers_count() -> None:
    names = [row.name for row in TABLE_3]
    assert len(set(names)) == len(names) == 20
    groups = Counter(name.partition(":")[0] for name in names)
    assert groups == {"base": 1, "A": 4, "B": 2, "C": 7, "D": 4, "E": 1, "big": 1}
    for row in TABLE_3:
        millions = expected_num_parameters(row.config(), SHARED_VOCAB_SIZE, SHARED_VOCAB_SIZE) / 1e6
        assert millions == pytest.approx(row.millions or 65, rel=0.07), row.name


def test_parameters_by_formula_and_by_counting() -> None:
    for changes in (
        {},
        {"pre_norm": True, "attention_bias": True, "output_bias": True},
        {"tie_source_target": False, "positions": "learned"},
        {"tie_source_target": False, "tie_softmax": False, "d_k": 3, "d_v": 5},
        {"positions": "concatenated", "position_dim": 7, "tie_softmax": False},
    ):
        src_vocab = 41 if "tie_source_target" in changes else 37
        sizes = {"d_model": 26, "num_heads": 13, "d_ff": 41, "num_layers": 3, "max_len": 43}
        config = ModelConfig(**sizes | changes)
        model = Transformer(config, src_vocab_size=src_vocab, tgt_vocab_size=37)
        assert count_parameters(model) == expected_num_parameters(config, src_vocab, 37)
