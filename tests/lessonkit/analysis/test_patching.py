"""Vectors carried over: in their own place they change nothing, elsewhere they bring their fact."""

import pytest
import torch

from lessonkit.analysis.heads import Head, all_heads, attention_of, without_heads
from lessonkit.analysis.interventions import next_token
from lessonkit.analysis.patching import Run, patched, run_of, swapped_in
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

SALESMAN = "The clever salesman is reading an interesting novel."
SALESWOMAN = "The clever saleswoman is reading an interesting novel."


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("demo-en-fr")


@pytest.fixture(scope="module")
def model(translator: Translator) -> Transformer:
    assert isinstance(translator.model, Transformer)
    return translator.model


@pytest.fixture(scope="module")
def runs(translator: Translator) -> tuple[Run, Run]:
    return run_of(translator, SALESMAN), run_of(translator, SALESWOMAN)


def test_a_run_has_a_row_for_every_token(translator: Translator, runs: tuple[Run, Run]) -> None:
    run, _ = runs
    src_len = len(translator.src_tokenizer.encode(SALESMAN)) + 1
    assert translator.tgt_tokenizer.decode(run.said) == translator.translate([SALESMAN], 1)[0]
    assert run.memory.shape == (src_len, 128)
    for head, outputs in run.heads.items():
        assert outputs.shape == (src_len if head.stack == "encoder" else len(run.said) + 1, 32)


def test_a_head_s_outputs_are_its_values_weighted(
    translator: Translator, model: Transformer
) -> None:
    """By hand for the first layer of the encoder: Eq. 1."""
    run, head = run_of(translator, SALESMAN, []), Head("encoder", 1, 3)
    ids = torch.tensor([[*translator.src_tokenizer.encode(SALESMAN), 3]])
    frame = model.encoder.layers[0].self_attention_residual  # type: ignore[union-attr]
    with torch.no_grad():
        hidden = frame.before(model.src_embedding(ids))
        values = attention_of(model, head).value_projection(hidden)[0, :, 64:96]
        weights = model.attention_maps(ids, torch.tensor([[2]])).encoder[0, 0, 2]
    torch.testing.assert_close(run.heads[head], weights @ values, atol=1e-5, rtol=1e-5)


def test_its_own_vectors_change_nothing(
    translator: Translator, model: Transformer, runs: tuple[Run, Run]
) -> None:
    run, _ = runs
    whole = next_token(translator, SALESMAN)
    heads = swapped_in(run, all_heads(model), len(run.memory))
    with patched(model, dict(enumerate(run.memory)), heads):
        torch.testing.assert_close(next_token(translator, SALESMAN), whole, atol=1e-6, rtol=1e-4)
        assert translator.translate([SALESMAN], 1) == [
            "Le vendeur intelligent lit un roman intéressant."
        ]


def test_the_whole_memory_of_another_is_that_other(
    translator: Translator, model: Transformer, runs: tuple[Run, Run]
) -> None:
    _, other = runs
    with patched(model, dict(enumerate(other.memory))):
        for beam in (1, 4):
            assert translator.translate([SALESMAN], beam) == translator.translate(
                [SALESWOMAN], beam
            )
    assert translator.translate([SALESMAN], 1)[0].startswith("Le vendeur")


def test_what_the_lesson_shows(
    translator: Translator, model: Transformer, runs: tuple[Run, Run]
) -> None:
    _, other = runs
    said = {}
    for place in (0, 1, 2):
        with patched(model, {place: other.memory[place]}):
            said[place] = translator.translate([SALESMAN], 1)[0]
    assert said[0] == said[1] == "Le vendeur intelligent lit un roman intéressant."
    assert said[2] == "La vendeuse intelligente lit un roman intéressant."


def test_zeros_at_every_place_are_a_head_removed(
    translator: Translator, model: Transformer
) -> None:
    head = Head("decoder", 1, 3)
    zeros = {place: torch.zeros(32) for place in range(60)}
    with patched(model, heads={head: zeros}):
        put = translator.translate([SALESMAN], 1)
    with without_heads(model, [head]):
        assert translator.translate([SALESMAN], 1) == put
    assert translator.translate([SALESMAN], 1) != put


def test_a_vector_reaches_its_place_alone(translator: Translator, model: Transformer) -> None:
    run, head, vector = run_of(translator, SALESMAN), Head("encoder", 2, 4), torch.ones(32)
    with patched(model, heads={head: {2: vector}}):
        changed = run_of(translator, SALESMAN, run.said)
    apart = (changed.memory - run.memory).abs().amax(-1)
    assert apart[2] > 0.1
    assert float(apart[torch.arange(len(apart)) != 2].max()) < 1e-5


def test_a_shorter_sentence_takes_what_it_has_places_for(
    translator: Translator, model: Transformer, runs: tuple[Run, Run]
) -> None:
    run, _ = runs
    short = "The dog is sleeping."
    length = len(translator.src_tokenizer.encode(short)) + 1
    heads = swapped_in(run, [Head("encoder", 1, 1), Head("cross", 1, 1)], length)
    assert [len(places) for places in heads.values()] == [length, len(run.said) + 1]
    with patched(model, heads=heads):
        assert translator.translate([short], 1)[0].endswith(".")


def test_errors(translator: Translator, model: Transformer) -> None:
    head = Head("encoder", 1, 1)
    with (
        pytest.raises(UserError, match=r"shape \(5,\) at place 2, not \(32,\)"),
        patched(model, heads={head: {2: torch.zeros(5)}}),
    ):
        pass
    with (
        pytest.raises(UserError, match=r"the encoder's output is given .* not \(128,\)"),
        patched(model, {0: torch.zeros(5)}),
    ):
        pass
    for patch in ({"memory": {50: torch.zeros(128)}}, {"heads": {head: {50: torch.zeros(32)}}}):
        with pytest.raises(UserError, match="no place 50: the source has"), patched(model, **patch):  # type: ignore[arg-type]
            next_token(translator, SALESMAN)
    with pytest.raises(UserError, match="nothing to take away"):
        run_of(translator, "  ")
    with pytest.raises(UserError, match="a recurrent network"):
        run_of(Translator.load("demo-lstm"), SALESMAN)
