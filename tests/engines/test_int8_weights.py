"""The page's weights in 8 bits: the library reads them, and each is as near as a step allows."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from engines.int8_weights import (
    COPIED_FILE_NAMES,
    MANIFEST,
    WEIGHTS,
    quantize_safetensors,
    write_int8_model,
)
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
        assert (read[name].dtype.name, scales.dtype.name) == ("int8", "float16")
        assert scales.shape == (len(tensors[name]), groups)
        steps = np.repeat(scales.astype(np.float32), tensors[name].shape[1] // groups, axis=1)
        wrong = np.abs(read[name] * steps - tensors[name])
        assert (wrong <= 0.5001 * steps).all()
        assert np.abs(read[name]).max() == 127


def test_a_case_by_hand() -> None:
    read = load(quantize_safetensors(save({"w": np.array([[254, -254, 1.9, -3]], np.float32)})))
    assert read["w"].tolist() == [[127, -127, 1, -2]]  # 1.9 / 2 and -3 / 2; halves to even
    assert read["w_scale"].tolist() == [[2]]


def test_scales_that_float16_rounds_much_leave_no_number_outside() -> None:
    """A scale of 1e-6 is 1.01e-6 as float16, and one of 2.2e-7 is 2.4e-7."""
    numbers = np.array([[127e-6, -127e-6], [28e-6, -14e-6], [1e-9, -1e-9]], np.float32)
    read = load(quantize_safetensors(save({"w": numbers})))
    restored = read["w"] * read["w_scale"].astype(np.float32)
    np.testing.assert_allclose(restored, numbers, atol=6e-7)
    assert np.abs(read["w"]).max() <= 127


def test_another_type_is_refused() -> None:
    with pytest.raises(ValueError, match="w is of type I64"):
        quantize_safetensors(save({"w": np.ones((2, 3), np.int64)}))


def test_the_folder_that_is_written_has_sums_of_its_own(tmp_path: Path) -> None:
    """Of the weights' sum before they are compressed: the page checks what it reads."""
    source = models_folder() / "demo-en-fr"
    write_int8_model(source, tmp_path)
    content = {name: (tmp_path / name).read_bytes() for name in (*COPIED_FILE_NAMES, WEIGHTS)}
    for name in COPIED_FILE_NAMES:
        assert content[name] == (source / name).read_bytes()
    assert len(content[WEIGHTS]) < 0.5 * (source / WEIGHTS).stat().st_size
    content[WEIGHTS] = gzip.decompress(content[WEIGHTS])
    sums = {name: hashlib.sha256(file).hexdigest() for name, file in content.items()}
    assert json.loads((tmp_path / MANIFEST).read_text("utf-8")) == {"sha256": sums}
