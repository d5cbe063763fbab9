"""A model for the library `transformers`: the same numbers there, the same greedy translations."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from engines.folder import export_model
from engines.to_transformers import (
    FORBIDDEN_TOKEN_BIAS,
    check_config_exportable,
    hub_card_front_matter,
    write_transformers_model,
)
from transformer.config import BOS_ID, PAD_ID, ModelConfig
from transformer.data import tokenizers
from transformer.data.batches import collate_sources
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.recipes import find_recipe
from transformer.support.errors import UserError

SETTINGS: dict[str, dict[str, Any]] = {
    "pre-norm": {"pre_norm": True},
    "paper": {"pre_norm": False},
    "learned positions": {"pre_norm": True, "positions": "learned"},
    "biases, and an own softmax": {
        **{"pre_norm": True, "attention_bias": True, "output_bias": True, "tie_softmax": False}
    },
}
SOURCES = [[11, 5, 260], [4, 7, 9, 13, 8, 6, 5], [12]]


def written(settings: dict[str, Any], folder: Path, endless: bool = False) -> Transformer:
    """Write a small network whose every weight matters, and return it.

    With `endless` it writes one word without end.
    """
    torch.manual_seed(1)
    sizes = {"d_model": 22, "d_ff": 31, "num_heads": 2, "num_layers": 3, "max_len": 37}
    config = ModelConfig(**({"tie_source_target": True} | sizes | settings))
    data = find_recipe("demo").data
    text = ["the old woman reads a book"] * 5
    source, target = tokenizers.train(replace(data, joint_vocabulary=True), text, text)
    types = source.vocab_size
    model = Transformer(config, src_vocab_size=types, tgt_vocab_size=types)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, mean=0.5, std=0.5)
    if endless:
        with torch.no_grad():
            model.output.bias[target.encode("reads")[0]] = 1e4
    write_transformers_model(model.eval(), source, target, folder)  # type: ignore[arg-type]
    return model


@pytest.mark.parametrize("kind", SETTINGS)
def test_the_library_gives_our_logits(kind: str, tmp_path: Path) -> None:
    library = pytest.importorskip("transformers", reason="needs the extra [foreign]")
    model = written(SETTINGS[kind], tmp_path)
    theirs = library.AutoModelForSeq2SeqLM.from_pretrained(tmp_path).eval()
    src = collate_sources(SOURCES)
    tgt_in = torch.tensor([[BOS_ID, 17, 4, 8, 5]] * 3)
    with torch.no_grad():
        inputs = {"input_ids": src, "attention_mask": (src != PAD_ID).long()}
        logits = theirs(**inputs, decoder_input_ids=tgt_in).logits
        expected = model(src, tgt_in)
    expected[..., [PAD_ID, BOS_ID]] = logits[..., [PAD_ID, BOS_ID]]
    assert bool((logits[..., [PAD_ID, BOS_ID]] < FORBIDDEN_TOKEN_BIAS / 2).all())
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.slow
def test_translations_are_equal(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs the extra [foreign]")
    from engines.serve_transformers import Translator as Served

    ours = Translator.load("demo-en-fr")
    out = export_model("demo-en-fr", "transformers", tmp_path / "out")
    text = ["The  dog sleeps.", "", "The old woman is reading a book.", "The dog doesn’t sleep."]
    text += ["The d\u00adog sle\u200beps.", "\ufeff"]
    theirs = Served(out)
    for beam_size, alpha in ((1, 0.6), (4, 0.0), (4, 0.6)):
        expected = ours.translate(text, beam_size, alpha)
        assert theirs.translate(text, beam_size, alpha) == expected


def test_a_translation_that_does_not_end_stops_where_ours_does(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs the extra [foreign]")
    from engines.serve_transformers import Translator as Served

    written({"pre_norm": True, "output_bias": True, "max_len": 71}, tmp_path, endless=True)
    sources = ["the old woman", "", "reads", "the old woman reads a book"]
    theirs = Served(tmp_path)
    lengths = [len(theirs.tokenizer(source)["input_ids"]) for source in sources]
    ids = [theirs.tokenizer(text)["input_ids"] for text in theirs.translate(sources, beam_size=1)]
    assert len(set(lengths)) == 4
    # The end mark counts in a source; bos takes one of the model's positions.
    assert [len(row) - 1 for row in ids] == [
        min(length + 50, 71 - 1) if source else 0
        for length, source in zip(lengths, sources, strict=True)
    ]


def test_what_the_library_has_no_form_for_is_refused_in_a_line() -> None:
    sound = ModelConfig(d_model=22, d_ff=31, num_heads=2, num_layers=1, tie_source_target=True)
    check_config_exportable(sound, joint=True)
    for change, joint, says in (
        (
            {"positions": "concatenated", "position_dim": 4, "tie_softmax": False},
            True,
            "adds its positions",
        ),
        ({"d_k": 7, "d_v": 7}, True, "has heads of d_model / num_heads, 22 / 2"),
        ({"tie_source_target": False}, True, "has one vocabulary and one table"),
        ({}, False, "has one vocabulary and one table"),
    ):
        with pytest.raises(UserError, match=says):
            check_config_exportable(replace(sound, **change), joint)  # type: ignore[arg-type]


def test_the_card_has_what_the_hub_reads() -> None:
    figures = json.loads(Path("data/models/de-en/card.json").read_text())["figures"]
    data = find_recipe("multi30k-de-en").data
    head = json.loads(hub_card_front_matter("de-en", data, figures).strip("-\n"))
    assert (head["language"], head["license"]) == (["de", "en"], "other")
    assert "non-commercial" in head["license_name"]
    (result,) = head["model-index"][0]["results"]
    assert [metric["value"] for metric in result["metrics"]] == [
        figures[name]["score"] for name in ("bleu", "chrf++")
    ]
    bare = json.loads(hub_card_front_matter("demo", find_recipe("demo").data, None).strip("-\n"))
    assert (bare["license"], "model-index" in bare) == ("cc-by-4.0", False)
