"""What the fast recipe changes: Muon, the line to 0, and the weights that it begins with."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from experiments import cooccurrence, training_options
from experiments.muon import Muon, MuonAndAdam
from experiments.neighbours import initialize_heads_to_positions, sinusoid_shift_matrix
from experiments.training_options import (
    FAST_RECIPE,
    FAST_RECIPE_OPTIONS,
    TrainingOptions,
    find_recipe_and_options,
    linear_decay_rate,
    override_recipe_and_options,
)
from lessonkit.exercises.positions import my_shift_matrix
from tests.helpers import TINY
from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, EOS_ID, ModelConfig, Recipe, TrainingConfig
from transformer.data.batches import Example
from transformer.data.token_budget import TokenBudgetBatches
from transformer.model import Transformer
from transformer.positions import sinusoidal_positions
from transformer.recipes import find_recipe
from transformer.support.errors import UserError
from transformer.training.loop import train
from transformer.training.recipe import train_recipe
from transformer.training.result import TrainingResult

DEMO = find_recipe("demo")
PAPER = TrainingOptions()


def network(**changes: Any) -> Transformer:
    torch.manual_seed(1)
    shape = {"d_model": 12, "d_ff": 20, "num_heads": 2, "num_layers": 2, "pre_norm": True}
    types = 23 if changes.get("tie_source_target", True) else 29
    config = ModelConfig(**shape | changes)
    return Transformer(config, src_vocab_size=23, tgt_vocab_size=types)


def made(model: nn.Module, factor: float = 1.0) -> MuonAndAdam:
    return MuonAndAdam(model, TrainingConfig(), rate_factor=factor)


@pytest.mark.parametrize("tied", [True, False])
def test_muon_has_the_hidden_matrices_and_adam_all_else(tied: bool) -> None:
    model = network(tie_source_target=tied, tie_softmax=tied)
    name_of = {id(each): name for name, each in model.named_parameters()}
    adams, muons = (
        {name_of[id(each)] for each in group["params"]} for group in made(model).param_groups
    )
    assert adams | muons == set(name_of.values())
    assert not adams & muons
    assert all(name.startswith(("encoder.", "decoder.")) for name in muons)
    assert len(muons) == 2 * (4 + 2) + 2 * (4 + 4 + 2)  # projections, and two of feed-forward
    assert ("output.weight" in adams) == (not tied)
    groups = made(model, factor=2.0).param_groups
    assert [group.get("rate_factor") for group in groups] == [None, 2.0]


def test_muon_learns_and_goes_on_as_if_never_stopped(tmp_path: Path) -> None:
    sentences = [Example([4 + (i + j) % 19 for j in range(5)], [4 + i % 19]) for i in range(40)]
    batches = TokenBudgetBatches(sentences, 60)
    config = TrainingConfig(steps=12, learning_rate=0.01, validate_every=4, average_last=1)
    losses: list[float] = []

    def run(name: str, **options: Any) -> Transformer:
        options |= {"optimizer": made, "on_report": lambda report: losses.append(report.loss)}
        model, held_out = network(), list(batches.epoch(0))
        train(model, config, batches, held_out, tmp_path / name, d_model=12, **options)
        return model

    whole = run("whole")
    assert losses[-1] < losses[0]
    run("cut", stop_after=7)
    gone_on = run("cut", resume=True)
    pairs = zip(whole.parameters(), gone_on.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_linear_decay_by_hand() -> None:
    # d_model 16, warm-up 4: the same peak, 1/8, at step 4; then a fifth of it less each step.
    rates = [linear_decay_rate(step, 9, 16, 4) for step in range(1, 10)]
    wanted = [1 / 32, 2 / 32, 3 / 32, 5 / 40, 4 / 40, 3 / 40, 2 / 40, 1 / 40, 0]
    assert rates == pytest.approx(wanted, abs=1e-15)
    assert rates[-1] == 0
    assert linear_decay_rate(6, 9, 16, 4, factor=2) == pytest.approx(6 / 40)
    with pytest.raises(UserError, match="warmup_steps 5 leave no step to decay: give under 5"):
        linear_decay_rate(3, 5, 16, 5)
    with pytest.raises(UserError, match="step is 7, and the rate falls to 0 at 6"):
        linear_decay_rate(7, 6, 16, 5)


def test_a_rate_that_stays_has_the_papers_peak() -> None:
    settings = {"decay": "wsd", "steps": "20", "warmup_steps": "4", "learning_rate_factor": "3"}
    recipe, options = override_recipe_and_options(DEMO, PAPER, settings)
    schedule = options.train_recipe_kwargs(recipe)["schedule"]
    peak = 3 / math.sqrt(4 * 128)  # Eq. 3 at the last step of the warm-up, d_model 128
    rates = [schedule(step) for step in (2, 4, 16, 18, 20)]
    assert rates == pytest.approx([peak / 2, peak, peak, peak / 2, 0])


def test_settings_go_to_the_recipe_or_to_the_options() -> None:
    recipe, options = override_recipe_and_options(
        DEMO, PAPER, {"steps": "300", "decay": "linear", "cooccurrence_start": "true"}
    )
    assert recipe == DEMO.override({"steps": "300"})
    assert (options.decay, options.optimizer, options.cooccurrence_start) == (
        "linear",
        "adam",
        True,
    )
    arguments = options.train_recipe_kwargs(recipe)
    assert sorted(arguments) == ["extra_settings", "initialize", "schedule"]
    assert arguments["schedule"](300) == 0
    assert PAPER.train_recipe_kwargs(DEMO) == {}
    assert sorted(FAST_RECIPE_OPTIONS.train_recipe_kwargs(FAST_RECIPE)) == [
        "extra_settings",
        "initialize",
        "optimizer",
        "schedule",
    ]
    assert [find_recipe_and_options("multi30k-de-en-fast"), find_recipe_and_options("demo")] == [
        (FAST_RECIPE, FAST_RECIPE_OPTIONS),
        (DEMO, PAPER),
    ]


@pytest.mark.weekly
def test_a_run_goes_on_with_the_options_that_it_was_begun_with(tmp_path: Path) -> None:
    linear, muon = {"decay": "linear"}, {"optimizer": "muon", "muon_rate_factor": "2"}
    quiet: dict[str, Any] = {"on_begin": lambda line: None, "on_report": lambda report: None}

    def run(settings: dict[str, str], **more: Any) -> TrainingResult:
        recipe, options = override_recipe_and_options(
            DEMO.override(TINY | {"steps": 4, "warmup_steps": 2}), PAPER, settings
        )
        return train_recipe(recipe, tmp_path, **options.train_recipe_kwargs(recipe) | quiet | more)

    run(linear | muon, stop_after=2)
    for settings, message in (
        (muon, "with decay=linear and cannot go on without it: give decay=linear"),
        (linear, "with optimizer=muon and cannot go on without it: give optimizer=muon"),
        (linear | muon | {"muon_rate_factor": "3"}, "muon_rate_factor=2.0 and cannot go on with"),
        (linear | muon | {"cooccurrence_start": "true"}, "without cooccurrence_start and cannot"),
    ):
        with pytest.raises(UserError, match=message):
            run(settings, resume=True)
    assert run(linear | muon, resume=True).step == 4


def test_a_schedule_and_an_optimizer_of_ones_own(
    tmp_path: Path, few_sentences: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function each, and an entry in a table."""

    def constant(recipe: Recipe) -> Callable[[int], float]:
        return lambda step: 0.25 / recipe.training.steps

    def sgd(*_: Any) -> Callable[[nn.Module], torch.optim.Optimizer]:
        return lambda model: torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.5)

    monkeypatch.setitem(training_options.SCHEDULE_MAKERS, "constant", constant)
    monkeypatch.setitem(training_options.OPTIMIZER_FACTORY_MAKERS, "sgd", sgd)
    settings = {**TINY, "steps": "4", "decay": "constant", "optimizer": "sgd"}
    recipe, options = override_recipe_and_options(DEMO, PAPER, settings)
    rates = []
    train_recipe(
        recipe,
        tmp_path,
        on_begin=lambda line: None,
        on_report=lambda report: rates.append(report.learning_rate),
        **options.train_recipe_kwargs(recipe),
    )
    assert rates
    assert set(rates) == {0.0625}


def test_options_that_cannot_be() -> None:
    for settings, message in (
        ({"decay": "lineal"}, "unknown decay 'lineal': did you mean 'linear'?"),
        ({"muon_rate_factor": "2"}, "muon_rate_factor has no effect on adam: leave it out"),
        ({"muon_rate_factor": "0"}, "muon_rate_factor is 0.0: give a number above 0"),
        ({"decay": "linear", "learning_rate": "0.001"}, "learning_rate 0.001: give it or decay="),
        ({"decay": "wsd", "learning_rate": "0.001"}, "learning_rate 0.001: give it or decay=wsd"),
        ({"neighbour_start": "true", "parts": "rotary"}, "cooccurrence_start and neighbour_start"),
        ({"decay": "linear", "steps": "7", "warmup_steps": "7"}, "warmup_steps 7 leave no step"),
    ):
        with pytest.raises(UserError, match=f"^{re.escape(message)}"):  # noqa: PT012
            recipe, options = override_recipe_and_options(DEMO, PAPER, settings)
            options.train_recipe_kwargs(recipe)
    with pytest.raises(UserError, match="no matrix between hidden layers: take optimizer=adam"):
        made(nn.Embedding(3, 5))


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="PyTorch below 2.9")
def test_muon_is_pytorchs() -> None:
    torch.manual_seed(1)
    shapes = [(7, 13), (13, 7), (7, 13), (11, 11)]
    ours, theirs = ([nn.Parameter(torch.full(shape, 0.5)) for shape in shapes] for _ in range(2))
    mine = Muon(ours, precision=torch.bfloat16)
    other = torch.optim.Muon(theirs, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
    for rate in (0.1, 0.05, 0.2):
        for one, another in zip(ours, theirs, strict=True):
            one.grad = torch.randn_like(one)
            another.grad = one.grad.clone()
        for optimizer in (mine, other):
            optimizer.param_groups[0]["lr"] = rate
            optimizer.step()
    for one, another in zip(ours, theirs, strict=True):
        # bfloat16 has three digits; in stacks the sums have another order.
        assert (one - another).abs().max() < 0.02 * (another - 0.5).abs().max()
    assert list(mine.state[ours[0]]) == list(other.state[theirs[0]])  # a checkpoint's keys
    buffers = (each["momentum_buffer"] for each in (mine.state[ours[0]], other.state[theirs[0]]))
    torch.testing.assert_close(*buffers)


SIZES = {"d_model": 6, "d_ff": 5, "num_heads": 2, "num_layers": 1}


def untied(types: tuple[int, int] = (11, 13), **changes: bool) -> Transformer:
    torch.manual_seed(1)
    config = ModelConfig(**SIZES | {"tie_source_target": False} | changes)
    return Transformer(config, src_vocab_size=types[0], tgt_vocab_size=types[1])


def test_mutual_information_by_hand() -> None:
    # Source types 0 to 3, then target types 4 to 7. 0 stands opposite 4 and 1 opposite 5, always:
    # each of the four occurs twice among eight, so each pair twice as often as by chance.
    table, seen = cooccurrence.mutual_information_and_occurring_types(
        [Example([0], [0]), Example([1], [1])], 4, 8
    )
    assert seen.tolist() == [True, True, False, False] * 2
    for one, other in ((0, 4), (1, 5), (0, 0), (5, 5)):
        assert table[one, other].item() == pytest.approx(math.log(2))
    assert table[0, 5] == table[2].abs().max() == 0
    assert torch.equal(table, table.T)


@pytest.mark.parametrize("tied", [False, True])
def test_a_word_begins_beside_its_translation(tied: bool) -> None:
    # Source word 4 + n always stands opposite target word 8 + n of four.
    model = untied((13, 13), tie_source_target=tied)
    before = model.tgt_embedding.token.weight.detach().clone()
    examples = [Example([4 + n, 4 + m], [8 + n, 8 + m]) for n in range(4) for m in range(n)]
    cooccurrence.initialize_from_cooccurrence(model, examples)
    src, tgt = model.src_embedding.token.weight, model.tgt_embedding.token.weight
    nearest = (src[4:8] @ tgt[8:12].T).argmax(dim=1)
    assert nearest.tolist() == [0, 1, 2, 3]
    assert torch.equal(tgt[12], before[12])  # it does not occur
    assert torch.equal(tgt[:4], before[:4])  # padding, unknown and marks neither
    assert model.output.weight is tgt
    apart = untied((13, 13), tie_source_target=False, tie_softmax=False)
    cooccurrence.initialize_from_cooccurrence(apart, examples)
    for table, word, length in ((apart.src_embedding.token, 4, 0.5), (apart.output, 8, 1.0)):
        assert table.weight[word].norm().item() == pytest.approx(length)


def test_next_words_by_hand() -> None:
    # Eight places follow another, marks included; 4 follows in two of them.
    table = cooccurrence.next_token_associations([[4, 5], [4, 6], [6]], 8)
    assert table[BOS_ID, 4].item() == pytest.approx(2 / 3 * math.log((2 / 3) / (2 / 8)))
    assert table[4, 5].item() == pytest.approx(1 / 2 * math.log((1 / 2) / (1 / 8)))
    assert table[5, EOS_ID].item() == pytest.approx(math.log(1 / (3 / 8)))
    assert table[7].abs().max() == 0  # it is nowhere
    assert table[EOS_ID].abs().max() == 0  # nothing follows the end


def test_attention_begins_with_what_is_like_the_query() -> None:
    torch.manual_seed(3)
    attention = MultiHeadAttention(d_model=64, num_heads=2, d_k=32, d_v=32)
    cooccurrence.initialize_attention_to_similar(attention)
    memory = torch.randn(1, 7, 64)
    alike = memory + 0.1 * torch.randn(1, 7, 64)
    output, weights = attention(alike, memory, return_weights=True)
    assert weights.mean(dim=1).argmax(dim=-1).tolist() == [list(range(7))]
    # Each place finds itself, and hands it on in the direction it had.
    cosines = torch.nn.functional.cosine_similarity(output[:, :, None], memory[:, None], dim=-1)
    assert cosines.argmax(dim=-1).tolist() == [list(range(7))]


@pytest.mark.parametrize("offset", [-3, 0, 1, 5])
def test_a_shift_leads_from_one_position_to_another(offset: int) -> None:
    encoding = sinusoidal_positions(13, 10)
    shifted = encoding[3:8] @ sinusoid_shift_matrix(offset, 10).T
    torch.testing.assert_close(shifted, encoding[3 + offset : 8 + offset])
    assert torch.equal(
        sinusoid_shift_matrix(offset, 10), my_shift_matrix(offset, 10)
    )  # as lesson 03 answers


def test_heads_begin_with_a_place() -> None:
    model = network(d_model=64)
    encoder, decoder = model.encoder.layers[1], model.decoder.layers[1]
    initialize_heads_to_positions(model)
    for module, heads in (
        (encoder.self_attention, (-1, 1)),
        (decoder.self_attention, (-1, -2)),
        (decoder.cross_attention, (0, 0)),
    ):
        _, weights = module(sinusoidal_positions(11, 64)[None], return_weights=True)
        for seen, away in zip(weights[0].argmax(dim=-1).tolist(), heads, strict=True):
            assert seen[2:-1] == list(range(2 + away, 10 + away))
    assert not encoder.feed_forward.outer.weight.any()  # it adds nothing yet
    with pytest.raises(UserError, match="turns sinusoids: set positions=sinusoidal"):
        initialize_heads_to_positions(network(positions="learned"))


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, options = override_recipe_and_options(
        find_recipe("demo-lstm"), PAPER, {"cooccurrence_start": "true"}
    )
    with pytest.raises(UserError, match="_start are for Transformers"):
        options.train_recipe_kwargs(recipe)
    config = ModelConfig(d_model=32, num_heads=4, num_layers=1)
    model = Transformer(config, src_vocab_size=20, tgt_vocab_size=20)
    with pytest.raises(UserError, match=r"one direction for each of 20 types .* has 32 numbers"):
        cooccurrence.initialize_from_cooccurrence(model, [])
    monkeypatch.setattr(cooccurrence, "MAX_TOTAL_VOCAB_SIZE", 23)
    with pytest.raises(UserError, match="pairs of 24 types: give a vocab_size that leaves 23"):
        cooccurrence.initialize_from_cooccurrence(untied(), [])
