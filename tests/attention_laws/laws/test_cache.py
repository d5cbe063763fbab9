"""Faults of caches, searches and half precision are found, and sound ones are kept."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attention_laws import Adapter, Candidate, Report, Verdict, diagnose
from attention_laws.law import Law, laws_in_modules
from attention_laws.laws import MODEL_LAWS, half_precision
from lessonkit.museum.sound import sound_adapter
from tests.attention_laws.one_law import expect
from transformer.config import EOS_ID, PAD_ID


def try_laws(adapter: Adapter, laws: Iterable[Law], *names: str) -> Report:
    return diagnose(adapter, laws=[law for law in laws if not names or law.name in names])


def altered(adapter: Adapter, **changes: Any) -> Adapter:
    """Return the adapter with another start, step or reorder of its cache."""
    return adapter.replace(cached=replace(adapter.cached, **changes))


def reorders_no_memory(adapter: Adapter) -> Adapter:
    """Return an adapter that is right within a sentence, and wrong across sentences."""

    def reorder(cache: Any, rows: Tensor) -> Any:
        for own, _ in cache[2].layers:
            own.select(rows)
        return cache

    return altered(adapter, reorder=reorder)


def test_a_cache_that_reorders_only_within_sentences_is_broken() -> None:
    expect(reorders_no_memory(sound_adapter()), "cache_reorders_with_beams", "broken", "(of any)")
    expect(
        altered(sound_adapter(), reorder=None),
        "cache_reorders_with_beams",
        "not tried",
        "reorder",
    )


def test_logits_of_another_shape_are_no_fault_of_the_model() -> None:
    adapter = sound_adapter()
    step = adapter.cached.step  # type: ignore[union-attr]

    def longer(tokens: Tensor, cache: Any) -> Any:
        logits, cache = step(tokens, cache)
        return logits[:, None], cache

    expect(
        altered(adapter, step=longer), "cached_decoding_matches_forward", "not tried", "(1, 1, 29)"
    )


# --- 16 bits


def masked_with(value: float) -> Adapter:
    """Return an adapter that fills the scores of padding with a number, and averages over them."""
    adapter = sound_adapter()
    table = adapter.module.src_embedding.token  # type: ignore[union-attr]

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        hidden = table(src)  # type: ignore[operator]
        scores = hidden @ hidden.transpose(1, 2)
        hide = torch.zeros_like(scores).masked_fill((src == 0)[:, None], value)
        weights = (scores + hide).softmax(dim=-1)
        seen = (weights.float() @ hidden.float()).sum(dim=(1, 2))
        return adapter.forward(src, tgt_in) + seen[:, None, None]

    return adapter.replace(forward=forward)


def test_a_mask_of_minus_a_billion_fits_into_bfloat16_and_not_into_float16() -> None:
    report = try_laws(masked_with(-1e9), laws_in_modules(half_precision))
    assert report["logits_are_finite_in_bfloat16"].verdict == Verdict.KEPT
    assert report["logits_are_finite_in_float16"].verdict == Verdict.NOTED
    assert "65504" in report["logits_are_finite_in_float16"].seen
    assert not report.broken_laws


def test_what_overflows_in_bfloat16_alone_is_broken() -> None:
    """The largest float32 is 3.4028e38, the largest bfloat16 3.3895e38."""
    adapter = sound_adapter()

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        largest = torch.full((1, 1), 3.4e38) @ torch.ones(1, 1)
        return adapter.forward(src, tgt_in) + 0.0 * largest.float()

    overflowing = adapter.replace(forward=forward)
    expect(overflowing, "logits_are_finite_in_bfloat16", "broken", "float32")


def test_a_source_of_padding_is_warned_of_and_broken_if_it_spoils_others() -> None:
    report = try_laws(masked_with(-torch.inf), laws_in_modules(half_precision))
    assert report["all_padding_source_is_harmless"].verdict == Verdict.WARNED
    assert "[0, 0, 0, 0]" in report["all_padding_source_is_harmless"].seen
    assert not report.broken_laws
    adapter = sound_adapter()

    def mixed(src: Tensor, tgt_in: Tensor) -> Tensor:
        return adapter.forward(src, tgt_in) + (src != 0).any(dim=1).float().mean()

    assert try_laws(
        adapter.replace(forward=mixed), laws_in_modules(half_precision)
    ).broken_laws == ["all_padding_source_is_harmless"]


# --- searches


def greedy_of(change: Callable[[list[int]], list[int]], adapter: Adapter) -> Adapter:
    """Return the adapter whose greedy search changes each row."""
    own: Any = adapter.greedy
    return adapter.replace(greedy=lambda src, length: [change(row) for row in own(src, length)])


def beam_of(change: Callable[[list[Candidate]], list[Candidate]], adapter: Adapter) -> Adapter:
    """Return the adapter whose beam search changes the candidates of each sentence."""
    own: Any = adapter.beam
    return adapter.replace(beam=lambda *args: [change(row) for row in own(*args)])


def test_a_search_s_fault_breaks_its_law_and_shows_where() -> None:
    faults: list[tuple[Callable[..., Adapter], Callable[[Any], Any], str]] = [
        (greedy_of, lambda row: row[:-1], "greedy_search_matches_forward"),
        (greedy_of, lambda row: [*row[:2], EOS_ID, *row[2:]][:8], "search_stops_at_eos"),
        (greedy_of, lambda row: (row * 9)[:9], "search_stops_at_eos"),
        (
            beam_of,
            lambda row: [candidate._replace(ids=row[0].ids) for candidate in row],
            "beam_log_probs_match_forward",
        ),
        (beam_of, lambda row: [row[0], *row[:-1]], "beam_candidates_are_sorted_and_unique"),
    ]
    for search_of, change, law in faults:
        faulty = [search_of(change, sound_adapter(seed, tie_softmax=False)) for seed in range(2)]
        reports = [try_laws(adapter, MODEL_LAWS, law) for adapter in faulty]
        broken = [report[law].seen for report in reports if law in report.broken_laws]
        assert broken, "\n".join(map(str, reports))
        assert all("src [" in seen for seen in broken)


def test_a_penalty_of_the_wrong_sign_is_told_from_every_sound_one() -> None:
    scores: list[tuple[Callable[[float, int], float], str]] = [
        (lambda log_prob, length: log_prob, "kept"),
        (lambda log_prob, length: log_prob / length, "kept"),
        (lambda log_prob, length: log_prob + 0.5 * length, "kept"),
        (lambda log_prob, length: -log_prob / length, "broken"),
    ]
    for score, verdict in scores:
        expect(
            sound_adapter().replace(candidate_score=score, alpha=None),
            "length_penalty_does_not_favor_shorter",
            verdict,
        )


def test_padding_in_a_translation_is_warned_of_unless_the_model_is_untrained() -> None:
    fault = greedy_of(lambda row: [*row[:1], PAD_ID, *row[1:]][:8], sound_adapter(3))
    expect(fault.replace(untrained=None), "search_stops_at_eos", "warned", "src [")
    expect(fault, "search_stops_at_eos", "kept")


def test_an_eos_in_a_translation_is_a_mistake_of_the_adapter() -> None:
    left = greedy_of(lambda row: [*row[:7], EOS_ID], sound_adapter(3))
    expect(left, "search_stops_at_eos", "not tried", "src [")


def test_without_a_search_its_law_is_not_tried() -> None:
    without_search = sound_adapter().replace(greedy=None, beam=None, candidate_score=None)
    expect(without_search, "search_stops_at_eos", "not tried")
