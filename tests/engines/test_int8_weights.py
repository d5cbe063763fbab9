"""The page's weights in 8 bits: the library reads them, and each is as near as a step allows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from engines.int8_weights import WEIGHTS, quantize_safetensors, write_int8_model
from transformer.models import folder as models
from transformer.support.folders import models_folder


def test_each_number_is_at_most_half_a_step_from_its_own() -> None:
    """Groups of 64 where these divide a row, whole rows elsewhere; vectors stay."""
    chance = np.random.default_rng(3)
    tensors: dict[str, Any] = {
        "groups": chance.normal(size=(5, 192)).astype(np.float16),
        "rows": chance.normal(size=(7, 31)).astype(np.float32),
        "bias": chance.normal(size=11).astype(np.float16),
    }
    tensors["groups"][2, 64:128] = 0
    read = load(quantize_safetensors(save(tensors)))
    assert read.keys() == {*tensors, "groups_scale", "rows_scale"}
    np.testing.assert_array_equal(read["bias"], tensors["bias"])
    for name, groups in (("groups", 3), ("rows", 1)):
        scales = read[f"{name}_scale"]
        assert (read[name].dtype.name, scales.dtype.name) == ("int8", "float32")
        assert scales.shape == (len(tensors[name]), groups)
        steps = np.repeat(scales, tensors[name].shape[1] // groups, axis=1)
        wrong = np.abs(read[name] * steps - tensors[name])
        assert (wrong <= 0.5001 * steps).all()
        assert np.abs(read[name]).max() == 127


def test_a_case_by_hand() -> None:
    read = load(quantize_safetensors(save({"w": np.array([[254, -254, 1.9, -3]], np.float32)})))
    assert read["w"].tolist() == [[127, -127, 1, -2]]  # 1.9 / 2 and -3 / 2; halves to even
    assert read["w_scale"].tolist() == [[2]]


def test_another_type_is_refused() -> None:
    with pytest.raises(ValueError, match="w is of type I64"):
        quantize_safetensors(save({"w": np.ones((2, 3), np.int64)}))


def test_the_folder_that_is_written_has_sums_of_its_own(tmp_path: Path) -> None:
    source = models_folder() / "demo-en-fr"
    write_int8_model(source, tmp_path / "page")
    here, there = (models.read_description(folder) for folder in (tmp_path / "page", source))
    assert here.recipe == there.recipe
    sizes = [(folder / WEIGHTS).stat().st_size for folder in (tmp_path / "page", source)]
    assert sizes[0] < 0.55 * sizes[1]
