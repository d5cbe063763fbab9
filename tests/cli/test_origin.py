"""Where a recorded model comes from."""

import json
from pathlib import Path

from attention_course.origin import load_model_origin
from transformer.models.folder import read_recipe
from transformer.training.report import read_log


def test_the_origin_of_a_folder(tiny_folder: Path) -> None:
    origin = load_model_origin(tiny_folder)
    assert origin["recipe"] == read_recipe(tiny_folder).to_dict()
    assert origin["training"] == json.loads((tiny_folder / "run.json").read_text())
    assert origin["log"] == read_log(tiny_folder / "log.jsonl")
    assert {"command", "commit", "hardware", "date"} <= origin["evaluation"].keys()
