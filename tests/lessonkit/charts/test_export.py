"""Attention as a file: every weight as a number, one picture, and what cannot be written."""

import json
from pathlib import Path

import pytest
import torch
from matplotlib import pyplot as plt

from lessonkit.charts.export import check_attention_file, write_attention
from transformer.models.translator import Translator
from transformer.support.errors import UserError


def test_every_weight_in_a_json_file(tiny: Translator, tmp_path: Path) -> None:
    file = tmp_path / "attention.json"
    sentences = ["The woman reads a book.", " ", "A man sleeps."]
    write_attention(file, tiny, sentences, beam_size=1)
    written = json.loads(file.read_text(encoding="utf-8"))
    assert len(written) == 2
    for sentence, values in zip(sentences[::2], written, strict=True):
        attention = tiny.attention(sentence, beam_size=1)
        assert values["translation"] == attention.translation
        assert values["src_tokens"] == attention.src_tokens
        assert values["tgt_tokens"] == attention.tgt_tokens
        for name in ("encoder", "decoder", "cross"):
            weights = getattr(attention.maps, name)[:, 0]  # (layer, head, query, key)
            torch.testing.assert_close(torch.tensor(values[name]), weights, atol=5.1e-5, rtol=0)


def test_a_picture_file(tiny: Translator, tmp_path: Path) -> None:
    file = tmp_path / "attention.png"
    write_attention(file, tiny, ["", "A man sleeps."], beam_size=1)
    assert plt.imread(file).ndim == 3
    assert not plt.get_fignums()


def test_attention_files_that_cannot_be_written(tiny: Translator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ends in \.json or \.png"):
        check_attention_file(tmp_path / "attention.svg")
    with pytest.raises(UserError, match="folder"):
        check_attention_file(Path(__file__) / "attention.json")
    with pytest.raises(UserError, match="every sentence is empty"):
        write_attention(tmp_path / "attention.json", tiny, ["", "  "], beam_size=1)
    assert not list(tmp_path.iterdir())
