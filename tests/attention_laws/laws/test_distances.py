"""Rotary and relative positions, and what breaks them."""

import pytest

from attention_laws.bare_module import adapter_from_module
from experiments.laws.sound_models import SOUND_MODELS, run_as_module
from experiments.laws.variants import variant_text
from tests.attention_laws.laws import scored_models as scored
from tests.attention_laws.one_law import expect

LAW = "scores_depend_on_distance_alone"
MODERN, FUNCTIONAL, PAPER = (SOUND_MODELS[name].text for name in ("modern", "functional", "paper"))
MADE = "        self.dropout = nn.Dropout(DROPOUT)\n        place ="
MAPPED = f"        self.mapped = nn.Linear(D_MODEL, D_MODEL)\n{MADE}"
TURNED_KEYS = "            k = self.rotary(k, start)\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "seen"),
    [
        (MODERN, TURNED_KEYS, "            pass\n", "self-attention 1 of the source"),
        (MODERN, "(k, start)", "(k, start) * 1.0; k = k.flip(-1)", "of the largest"),
        (MODERN, "other * cos + one * sin", "other * cos", "of the largest"),
        (MODERN, "angles.cos()", "angles.sin()", "of the largest"),
        (FUNCTIONAL, "src.size(1), True)]", "src.size(1), True) * 0]", "only the target"),
        (FUNCTIONAL, "length, False)]", "length, False) * 0]", "only the source"),
    ],
)
def test_positions_in_the_scores_that_are_not_distances(
    text: str, old: str, new: str, seen: str
) -> None:
    assert text.count(old) == 1
    expect(run_as_module(text.replace(old, new)).make_adapter(), LAW, "broken", seen)


def test_sound_positions() -> None:
    for text, verdict in (
        (MODERN, "kept"),
        (FUNCTIONAL, "kept"),
        (variant_text("modern", "interleaved_rotary"), "kept"),
        (variant_text("functional", "alibi"), "kept"),
        (variant_text("functional", "absolute_positions"), "not tried"),
        # Words are mapped before positions are added to them.
        (PAPER.replace("words + ", "self.mapped(words) + ").replace(MADE, MAPPED), "not tried"),
        (PAPER, "not tried"),
    ):
        expect(run_as_module(text).make_adapter(), LAW, verdict)


def test_a_decoder_may_have_no_positions_where_none_are_told() -> None:
    """It knows order by its mask ("NoPE", Kazemnejad et al. 2023)."""
    text = FUNCTIONAL.replace("length, False)]", "length, False) * 0]")
    adapter = run_as_module(text).make_adapter().replace(relative_max_distance=None)
    expect(adapter, LAW, "warned", "only the source")


@pytest.mark.parametrize(
    "product",
    [
        'einsum("...qd,...kd->...qk", q, k)',
        "einsum(q, [..., 0, 1], k, [..., 2, 1], [..., 0, 2])",
        'einsum("bhqd,bhkd->bhqk", q, k) + einsum("bhqk->bhqk", torch.zeros(1, 1, 1, 1))',
        'einsum("bhqd,bhkd,bhq->bhqk", q, k, torch.ones(q.shape[:-1]))',
    ],
)
def test_products_in_every_form_of_einsum(product: str) -> None:
    text = FUNCTIONAL.replace('einsum("bhqd,bhkd->bhqk", q, k)', f"({product})")
    assert text != FUNCTIONAL
    adapter = run_as_module(text).make_adapter()
    expect(adapter, LAW, "kept")
    expect(adapter, "scores_are_scaled_by_sqrt_d_k", "not tried" if "bhq->" in product else "kept")


def test_a_source_read_alike_in_both_directions_is_warned_of() -> None:
    text = FUNCTIONAL.replace("(gap < 0).long() * half if both_sides else 0", "0")
    expect(run_as_module(text).make_adapter(), LAW, "warned", "before from those after")


def test_tables_of_rotary_positions_are_no_sinusoids_of_the_paper() -> None:
    expect(run_as_module(MODERN).make_adapter(), "sinusoids_match_paper", "not tried")


@pytest.mark.parametrize(
    ("layers", "verdict", "seen"),
    [
        ([scored.rotary, scored.rotary], "kept", "in 2"),
        ([scored.bias_of_distances], "kept", "in 1"),
        # Layers without positions, as in Llama 4 and SmolLM3.
        ([scored.rotary, scored.no_positions], "kept", "in 2"),
        ([scored.no_positions, scored.rotary], "kept", "in 2"),
        ([scored.no_positions], "not tried", "token_order_matters"),
        ([scored.ssmax], "not tried", "token_order_matters"),
        ([scored.ssmax_of_rotary_queries], "kept", "in 1"),
        ([scored.fire], "warned", "what is added"),
        ([scored.tupe], "warned", "what is added"),
        ([scored.added_to_queries_and_keys], "warned", "queries and keys"),
        ([scored.rotary_on_queries_alone], "broken", "self-attention 1 of the target"),
        ([scored.rotary, scored.rotary_on_queries_alone], "broken", "self-attention 2"),
        ([scored.rotary_with_a_wrong_sign], "broken", "self-attention 1 of the target"),
        ([scored.bias_of_sums], "broken", "sum of two positions"),
    ],
)
def test_rotations_are_told_from_biases_and_factors(
    layers: list[scored.ScoreFunction], verdict: str, seen: str
) -> None:
    expect(adapter_from_module(scored.ScoredModel(*layers)), LAW, verdict, seen)


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        (scored.no_positions, "not tried"),
        (scored.rotary, "kept"),
        (scored.rotary_on_queries_alone, "broken"),
    ],
)
def test_the_beginning_of_a_convolution_is_not_judged(
    scores: scored.ScoreFunction, verdict: str
) -> None:
    """As in Primer, whose second layer reads equal words no longer alike."""
    model = scored.ScoredModel(scores, scores, convolves=True)
    expect(adapter_from_module(model), LAW, verdict)
