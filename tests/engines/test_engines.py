"""An exported model computes what ours does, whatever its settings, and says the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from engines.tokenizer_json import token_names_by_id, write_tokenizer_json
from tests.engines.conftest import require, served
from transformer.config import BOS_ID, EOS_ID, PAD_ID, SPECIAL_TOKENS, ModelConfig
from transformer.data import corpora
from transformer.data.batches import collate_sources
from transformer.data.tokenizers import BPETokenizer
from transformer.decoding import beam_search, greedy_search
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.parts import Parts
from transformer.support.errors import UserError

Export = Callable[[str, str], Path]
TYPES = 4 + 256 + 7  # the target vocabulary's size; the source's is smaller by two
SOURCES = [[11, 5, 260], [4, 7, 9, 13, 8, 6, 5], [12]]
TARGET = [17, 4, 266, 5, 30]
# The paper's base is post-norm, sinusoidal, tied and without biases.
SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {"tie_source_target": True},
    "pre-norm": {"pre_norm": True},
    "learned positions": {"positions": "learned"},
    "concatenated positions": {
        "positions": "concatenated",
        "position_dim": 5,
        "tie_softmax": False,
    },
    "biases": {"attention_bias": True, "output_bias": True, "tie_softmax": False},
    "narrow heads": {"d_k": 7, "d_v": 7},
    "widths of their own": {"d_k": 5, "d_v": 7},
}


@pytest.fixture(params=SETTINGS)
def model(request: pytest.FixtureRequest) -> Transformer:
    """A small network whose every weight matters: norms and biases are drawn too."""
    torch.manual_seed(1)
    sizes = {"d_model": 22, "d_ff": 31, "num_heads": 2, "num_layers": 3, "max_len": 37}
    settings = {"tie_source_target": False} | sizes | SETTINGS[request.param]
    config = ModelConfig(**settings)
    types = TYPES if config.tie_source_target else TYPES - 2
    network = Transformer(config, src_vocab_size=types, tgt_vocab_size=TYPES)
    for parameter in network.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, mean=0.5, std=0.5)
    return network.eval()


def expected_log_probs(model: Transformer, source: list[int]) -> Tensor:
    """The log probability of every type after each prefix of TARGET: (positions, TYPES)."""
    with torch.no_grad():
        logits = model(collate_sources([source]), torch.tensor([[BOS_ID, *TARGET]]))
    return logits[0].log_softmax(dim=-1)


def test_onnx_gives_our_probabilities(model: Transformer, tmp_path: Path) -> None:
    require("onnx")
    from engines.to_onnx import write_onnx_graphs

    write_onnx_graphs(model, tmp_path)
    _write_tokenizers(model, tmp_path)
    session = served(tmp_path, "onnx")
    src = collate_sources(SOURCES)
    mask, *memory = session.encoder.run(None, {"src": src.numpy()})
    np.testing.assert_array_equal(mask, padding_mask(src).numpy())
    source = {"src_mask": mask, "memory_keys": memory[0], "memory_values": memory[1]}
    past = [cache[:, :, :, :0] for cache in memory]
    all_log_probs = []
    for token in [BOS_ID, *TARGET]:
        step = {"token": np.full((3, 1), token), "past_keys": past[0], "past_values": past[1]}
        log_probs, *past = session.decoder.run(None, source | step)
        all_log_probs.append(torch.from_numpy(log_probs))
    expected = torch.stack([expected_log_probs(model, source) for source in SOURCES])
    expected[:, :, [PAD_ID, BOS_ID]] = -torch.inf
    torch.testing.assert_close(torch.stack(all_log_probs, dim=1), expected, atol=1e-5, rtol=1e-4)
    wanted = greedy_search(model, src, max_len=36)
    assert session.greedy_search([[*ids, EOS_ID] for ids in SOURCES]) == [
        hypothesis.ids for hypothesis in wanted
    ]


def test_parts_that_no_engine_knows_are_refused_by_each(tmp_path: Path) -> None:
    """An export with the norm left out would be a wrong model, without a word."""
    for engine in ("onnx", "ctranslate2"):
        require(engine)
    from engines.to_ctranslate2 import write_ctranslate2_model
    from engines.to_onnx import write_onnx_graphs
    from engines.to_transformers import write_transformers_model

    config = ModelConfig(d_model=22, d_ff=31, num_heads=2, num_layers=1)
    parts = Parts(norm=lambda config: nn.RMSNorm(config.d_model))
    model = Transformer(config, src_vocab_size=260, tgt_vocab_size=260, parts=parts).eval()
    tokenizer = BPETokenizer([])
    names = token_names_by_id(tokenizer)
    writers: list[Callable[[], None]] = [
        lambda: write_onnx_graphs(model, tmp_path),
        lambda: write_ctranslate2_model(model, names, names, tmp_path),
        lambda: write_transformers_model(model, tokenizer, tokenizer, tmp_path),
    ]
    for write in writers:
        with pytest.raises(UserError, match=r"parts of its own \(norm=RMSNorm\)"):
            write()
    assert not list(tmp_path.iterdir())


def test_ctranslate2_gives_our_probabilities(model: Transformer, tmp_path: Path) -> None:
    require("ctranslate2")
    import ctranslate2

    from engines.to_ctranslate2 import write_ctranslate2_model

    sides = [
        [*SPECIAL_TOKENS, *(f"{side}{number}" for number in range(4, types))]
        for side, types in (("s", model.src_embedding.token.num_embeddings), ("t", TYPES))
    ]
    if model.config.key_size != model.config.value_size:
        with pytest.raises(UserError, match=r"d_k is 5 and d_v 7.*export it --to onnx"):
            write_ctranslate2_model(model, *sides, tmp_path)
        assert not list(tmp_path.iterdir())
        return
    write_ctranslate2_model(model, *sides, tmp_path)
    engine = ctranslate2.Translator(str(tmp_path), intra_threads=1)
    sources = [[sides[0][number] for number in [*ids, EOS_ID]] for ids in SOURCES]
    target = [sides[1][number] for number in TARGET]
    results = engine.score_batch(sources, [target] * 3)
    tgt_out = [*TARGET, EOS_ID]
    for result, source in zip(results, SOURCES, strict=True):
        expected = expected_log_probs(model, source)
        expected[:, [PAD_ID, BOS_ID]] = -torch.inf
        expected = expected.log_softmax(dim=-1)[range(len(tgt_out)), tgt_out]
        torch.testing.assert_close(torch.tensor(result.log_probs), expected, atol=1e-5, rtol=1e-4)


def _byte_model(max_len: int, bias: dict[str, float]) -> Transformer:
    """Return a network of byte types; `bias` is added to the logits of some."""
    sizes = {"d_model": 22, "d_ff": 31, "num_heads": 2, "num_layers": 1, "max_len": max_len}
    config = ModelConfig(**sizes, output_bias=True, tie_source_target=True)  # type: ignore[arg-type]
    model = Transformer(config, src_vocab_size=260, tgt_vocab_size=260).eval()
    names = token_names_by_id(BPETokenizer([]))
    with torch.no_grad():
        for token, logit in bias.items():
            model.output.bias[names.index(token)] = logit
    return model


def _served_by_ctranslate2(model: Transformer, folder: Path) -> Any:
    require("ctranslate2")
    from engines.to_ctranslate2 import write_ctranslate2_model

    names = token_names_by_id(BPETokenizer([]))
    write_ctranslate2_model(model, names, names, folder)
    _write_tokenizers(model, folder)
    return served(folder, "ctranslate2")


def test_ctranslate2_stops_where_we_do_and_not_at_its_own_limit(tmp_path: Path) -> None:
    """Its own is 256 tokens for each sentence. This network writes "a" without end."""
    model = _byte_model(307, {"a": 1e4})
    sources = ["x" * 17, "", "x", "x" * 280, " ", "\u200b"]
    translations = _served_by_ctranslate2(model, tmp_path).translate(sources)
    # A source counts its end mark and the blank before its first word; the target has no bos.
    limits = [1 + 17 + 1 + 50, 0, 1 + 1 + 1 + 50, 307 - 1, 0, 0]
    assert [len(translation) for translation in translations] == limits
    assert set("".join(translations)) == {"a"}


@pytest.mark.parametrize(
    ("seed", "logit", "kinds"),
    [
        pytest.param(1, 4.0, {1, 2}, id="beside hypotheses that end, some that do not"),
        pytest.param(2, 3.0, {1}, id="more end in one step than are asked for"),
    ],
)
def test_ctranslate2_chooses_our_translations(
    seed: int, logit: float, kinds: set[int], tmp_path: Path
) -> None:
    """Random weights: the cases in which the engine's own order of hypotheses drops the best."""
    torch.manual_seed(seed)
    model = _byte_model(97, {"<eos>": 3.0, "a": logit, "b": logit})
    for parameter in model.parameters():
        if parameter.dim() == 1 and parameter is not model.output.bias:
            torch.nn.init.normal_(parameter, mean=0.5, std=0.5)
    theirs = _served_by_ctranslate2(model, tmp_path)
    tokenizer = BPETokenizer([])
    sources = [chr(97 + i) * (1 + i % 7) + chr(100 + i % 11) * (i % 5) for i in range(23)]
    src = collate_sources([tokenizer.encode(source) for source in sources])
    for alpha in (0.0, 0.6, 2.0):
        beams = beam_search(model, src, beam_size=3, alpha=alpha, max_len=96)
        assert {len({hypothesis.finished for hypothesis in beam}) for beam in beams} == kinds
        expected = [tokenizer.decode(beam[0].ids) for beam in beams]
        assert theirs.translate(sources, beam_size=3, alpha=alpha) == expected


def _write_tokenizers(model: Transformer, folder: Path) -> None:
    """Write byte tokenizers of the model's sizes."""
    for side in ("src", "tgt"):
        path = folder / f"{side}_tokenizer.json"
        write_tokenizer_json(BPETokenizer([]), model.config.max_len, path)


@pytest.mark.slow
def test_ctranslate2_searches_with_beams_as_we_do(exported: Export) -> None:
    """Its own length penalty is another; translate.py ranks as the paper does."""
    theirs = served(exported("demo-en-fr", "ctranslate2"), "ctranslate2")
    sentences = corpora.load("embedded", "test_combinations", "en", "fr").src[:53]
    ours = Translator.load("demo-en-fr")
    for alpha in (0.0, 0.6, 2.0):
        expected = ours.translate(sentences, beam_size=4, alpha=alpha)
        assert theirs.translate(sentences, beam_size=4, alpha=alpha) == expected


@pytest.mark.weekly
def test_1000_captions_are_translated_as_by_us(
    shared_data: Path, exported: Export, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSFORMER_DATA", str(shared_data))
    sentences = corpora.load("multi30k", "test_2016_flickr", "de", "en").src
    assert len(sentences) == 1000
    ours, theirs = Translator.load("de-en"), served(exported("de-en", engine), engine)
    if engine == "onnx":
        assert theirs.translate(sentences) == ours.translate(sentences, beam_size=1)
    else:
        for beam_size in (1, 4):
            expected = ours.translate(sentences, beam_size)
            assert theirs.translate(sentences, beam_size) == expected
