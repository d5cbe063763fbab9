"""Each fault breaks the laws that are recorded, and what is sound breaks none."""

import copy

import pytest
import torch

from attention_laws.adapter import Adapter
from attention_laws.run import diagnose, diagnose_pipeline
from experiments.fault_detection import draw_sound_config
from lessonkit.museum import FAULTS, sound_adapter
from lessonkit.museum.edited_source import SOUND_MODULE
from lessonkit.museum.fault import BROKEN_LAWS_RECORD, load_broken_laws_by_fault
from lessonkit.museum.pipeline import sound_pipeline
from lessonkit.museum.sound import TrainingSetup, sound_model
from tests.helpers import weekly
from transformer.decoding import greedy_search
from transformer.support.files import read_json
from transformer.support.folders import results_folder

NAMED = {each.name: each for each in FAULTS}
# What no fault breaks: rules of thumb, which only warn, and laws whose tests break them by hand.
UNBROKEN = {
    "initial_scores_have_unit_scale",
    "initial_loss_is_near_log_vocab_size",
    "unmasked_keys_get_weight",
    "embedding_and_position_scales_match",
    "logits_are_finite_in_float16",
    "logits_are_finite_in_bfloat16",
    "padding_is_trailing",
    "learning_rate_is_positive",
    "sources_are_complete",
    "loss_favors_the_target",
    "left_padding_is_ignored",
    "scores_depend_on_distance_alone",
    "feed_forward_is_not_narrow",
    "positions_have_a_table_of_their_own",
    "norms_ignore_the_scale",
    "scale_of_words_is_not_amplified",
    "train_step_returns_its_loss",
    "gradients_are_final_when_used",
    "optimizer_settings_are_plausible",
    "frozen_weights_stay",
    "attention_dropout_acts_as_told",
    "dropout_acts_as_told",
    "embedding_of_padding_alone_is_not_trained",
    "functions_take_what_forward_takes",
    "fused_attention_matches_explicit",
    "gradient_checkpointing_matches_plain",
    "gradients_are_clipped_as_told",
    "initial_std_is_as_told",
    "norm_epsilon_is_as_told",
    "norm_scales_multiply",
    "norms_level_small_words",
    "optimizer_settings_are_as_told",
    "relative_positions_have_rows_in_order",
    "relative_positions_have_t5_rows",
    "rotary_base_is_as_told",
    "rotary_frequencies_fall_from_one",
    "schedule_has_rates_told",
    "searches_return_ids_in_lists",
    "state_dict_restores_logits",
    "words_are_looked_up_in_weights",
}
# A law that is newer than the record is not in it.
TRIED = set(read_json(results_folder() / BROKEN_LAWS_RECORD)["laws"])


def test_every_recorded_law_is_broken_by_a_fault() -> None:
    broken = {law for report in load_broken_laws_by_fault().values() for law in report["broken"]}
    assert TRIED - broken == UNBROKEN


@pytest.mark.weekly  # each of a hundred models is asked about every law
@pytest.mark.parametrize("group", dict.fromkeys(each.group for each in FAULTS))
def test_a_fault_breaks_the_laws_that_are_recorded(group: str) -> None:
    for each in FAULTS:
        if each.group == group:
            broken = [law for law in each.diagnose().broken_laws if law in TRIED]
            assert broken == load_broken_laws_by_fault()[each.name]["broken"], each


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, *map(weekly, range(2, 9))])
def test_a_sound_model_breaks_no_law(seed: int) -> None:
    report = diagnose(sound_adapter(seed, **draw_sound_config(seed)))
    assert not report.stopped
    assert report.broken_laws == [], draw_sound_config(seed)


def test_a_sound_pipeline_breaks_no_law() -> None:
    assert diagnose_pipeline(sound_pipeline()).broken_laws == []
    adapter = sound_adapter()  # it holds all that an adapter can
    missing = {n for n in Adapter.__dataclass_fields__ if getattr(adapter, n) is None}
    # Its targets are padded as its sources are, nothing is clipped, no model of the museum has
    # relative positions or is decoder-only, and of its settings those of the optimizer are told.
    told = {"norm_epsilon", "initial_std", "dropout", "attention_dropout", "label_smoothing"}
    told |= {"length_exponent", "schedule_rates", "relative_max_distance", "rotary_base"}
    assert missing == {"tgt_pad_id", "max_gradient_norm", "left_padded"} | told


def test_a_fault_leaves_the_packages_own_code_and_the_weights_alone() -> None:
    code = NAMED["own_value"].load_modules()
    model, faulty = sound_model(3), code[SOUND_MODULE].sound_model(3)
    for name, value in model.state_dict().items():
        assert torch.equal(value, faulty.state_dict()[name])
    assert (
        type(faulty.encoder.layers[0].self_attention)
        is code["transformer.attention"].MultiHeadAttention
    )
    assert diagnose(TrainingSetup(model).to_adapter()).broken_laws == []


def test_a_model_that_is_there_is_altered_as_one_that_is_made() -> None:
    src, tgt_in = torch.tensor([[5, 7, 9, 3], [11, 3, 0, 0]]), torch.tensor([[2, 6, 8], [2, 4, 9]])
    model = sound_model(5).eval()
    for name in ("no_causal_mask", "causal_inverted", "padding_attended", "own_value"):
        altered = copy.deepcopy(model)
        NAMED[name].add_to_model(altered)
        made = NAMED[name].load_modules()[SOUND_MODULE].sound_model(5).eval()
        assert not torch.allclose(model(src, tgt_in), altered(src, tgt_in))
        torch.testing.assert_close(altered(src, tgt_in), made(src, tgt_in))
        greedy_search(altered, src, max_len=3)


def test_validation_that_is_wrong_gives_other_figures() -> None:
    """No law sees these; what they report is what is wrong with them."""
    setup = TrainingSetup(sound_model(2))
    one, other = (
        setup.make_batch(*each) for each in ([[[5]], [[8]]], [[[6, 7], [8]], [[9], [4, 5]]])
    )
    sound_figure, figures = setup.validate([one, other]), []
    for name in ("averaged_over_batches", "trains", "hidden"):
        code = NAMED[f"validation_{name}"].load_modules()
        faulty = code[SOUND_MODULE].TrainingSetup(copy.deepcopy(setup.model.eval()))
        figures.append(faulty.validate([one, other]))
        assert (faulty.model.output.weight.grad is not None) == (name == "trains")
    alone = [setup.validate([each]) for each in (one, other)]
    assert figures[0] == pytest.approx(sum(alone) / 2)
    assert figures[1] == pytest.approx(sound_figure * 7)  # one of eight places is padding
    assert figures[2] == 0
