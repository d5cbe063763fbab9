"""Each specimen has its fault, and what is sound has none."""

from collections import Counter

import pytest
import torch
from torch import nn

from attention_laws.adapter import Adapter
from attention_laws.laws import LAWS
from attention_laws.run import diagnose
from attention_laws.run_pipeline import diagnose_pipeline
from lessonkit.museum import SPECIMENS, sound
from lessonkit.museum.sound import Setup, drawn_config, sound_model
from lessonkit.museum.specimen import Specimen, leave, recorded, turn
from lessonkit.museum.text import sound_pipeline
from transformer.layers import FeedForward
from transformer.masks import padding_mask

CAUGHT = [each for each in SPECIMENS if each.caught_by and each.pipeline is None]
PIPELINES = [each for each in SPECIMENS if each.pipeline is not None]


def test_names_are_unlike_and_each_says_what_it_does() -> None:
    counts = Counter(each.name for each in SPECIMENS)
    assert max(counts.values()) == 1
    assert len(SPECIMENS) >= 40
    for each in SPECIMENS:
        assert each.about
        assert not each.about.endswith(".")
        changed = each.alter is not leave or each.setup is not Setup or each.pipeline is not None
        assert changed, each.name


def test_every_specimen_is_in_the_record() -> None:
    for each in SPECIMENS:
        assert each.name in recorded(), f"{each.name}: python -m experiments museum"


@pytest.mark.slow
@pytest.mark.parametrize("specimen", CAUGHT, ids=lambda each: each.name)
def test_its_first_law_is_broken(specimen: Specimen) -> None:
    name = specimen.caught_by[0]
    laws = [law for law in LAWS if law.name == name]
    assert specimen.diagnose(laws=laws).broken == [name]


@pytest.mark.slow
@pytest.mark.parametrize("specimen", PIPELINES, ids=lambda each: each.name)
def test_a_pipeline_breaks_what_is_recorded(specimen: Specimen) -> None:
    assert specimen.diagnose().broken == list(specimen.caught_by)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_what_is_sound_breaks_no_law(seed: int) -> None:
    report = diagnose(sound(seed, **drawn_config(seed)))
    assert not report.stopped
    assert report.broken == []


def test_the_sound_pipeline_breaks_no_law() -> None:
    assert diagnose_pipeline(sound_pipeline()).broken == []


def test_the_sound_model_holds_all_that_an_adapter_can() -> None:
    adapter = sound()
    empty = [name for name in Adapter.__dataclass_fields__ if getattr(adapter, name) is None]
    assert empty == []


def test_a_fault_leaves_the_weights_as_they_were_drawn() -> None:
    ours, faulty = sound_model(3), sound_model(3)
    turn(faulty, FeedForward, type("Other", (FeedForward,), {}))
    for name, value in ours.state_dict().items():
        assert torch.equal(value, faulty.state_dict()[name])
    assert {type(each).__name__ for each in faulty.modules() if isinstance(each, FeedForward)} == {
        "Other"
    }


def test_the_sound_setup_learns() -> None:
    setup = Setup(sound_model(1, dropout=0.0), label_smoothing=0.0)
    batch = setup.make_batch([[5, 7, 9], [11, 13]], [[6, 8], [10, 12, 14]])
    losses = [setup.train_step(*batch) for _ in range(120)]
    assert losses[-1] < 0.1 < losses[0]
    assert setup.updates() == 120
    assert setup.validate([batch]) == pytest.approx(losses[-1], abs=0.1)
    assert setup.greedy(batch[0], 9) == [[6, 8], [10, 12, 14]]
    assert [row[0].ids for row in setup.beam(batch[0], 4, 9, 0.6)] == [[6, 8], [10, 12, 14]]


def test_the_sound_loss_is_the_mean_over_real_tokens() -> None:
    setup = Setup(sound_model(2), label_smoothing=0.0)
    src, tgt_in, tgt_out = setup.make_batch([[5], [6, 7]], [[8, 9, 10], [11]])
    logits = setup.model.eval()(src, tgt_in)
    log_probs = logits.log_softmax(-1).gather(-1, tgt_out[..., None]).squeeze(-1)
    expected = -log_probs[tgt_out != 0].mean()
    torch.testing.assert_close(setup.loss(logits, tgt_out), expected)


def test_a_specimen_differs_from_the_sound_model() -> None:
    """Where the model is altered and computes something else, forward shows it."""
    src, tgt_in = torch.tensor([[5, 7, 9, 3], [11, 3, 0, 0]]), torch.tensor([[2, 6, 8], [2, 4, 0]])
    alike = []
    for each in SPECIMENS:
        if each.pipeline is not None or each.setup is not Setup:
            continue
        ours, faulty = (sound_model(5, **each.config).eval() for _ in range(2))
        torch.manual_seed(0)
        each.alter(faulty)
        with torch.no_grad():
            if torch.allclose(ours(src, tgt_in), faulty.eval()(src, tgt_in), atol=1e-6):
                alike.append(each.name)
    assert set(alike) == SAME_IN_ONE_PASS


# What shows in training alone, with a cache, or in the weights' identity.
SAME_IN_ONE_PASS = {
    "memory_detached",
    "positions_after_dropout",
    "positions_forgotten_by_the_cache",
    "dropout_never_called",
    "layers_in_a_list",
    "embedding_dropout_never_called",
    "cache_of_the_newest",
    "cache_of_keys",
    "cache_of_the_sentence_before",
}


def test_a_model_with_layers_in_a_list_has_few_parameters() -> None:
    hidden = next(each for each in SPECIMENS if each.name == "layers_in_a_list")
    model = sound_model()
    before = sum(1 for each in model.modules() if isinstance(each, nn.Linear))
    hidden.alter(model)
    assert before > sum(1 for each in model.modules() if isinstance(each, nn.Linear)) == 1
    src = torch.tensor([[5, 7, 3]])
    assert model.encode(src, padding_mask(src)).shape == (1, 3, 32)
