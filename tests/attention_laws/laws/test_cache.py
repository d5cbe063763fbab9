"""Faults of caches are told from sound ones; each is an adapter whose `cached` is another."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_laws import Adapter, CachedDecoder, Report, Verdict, diagnose
from attention_laws.laws import cache
from lessonkit.museum.sound import sound
from transformer.masks import padding_mask

NAMES = [law.name for law in cache.LAWS]


def tried(adapter: Adapter) -> Report:
    return diagnose(adapter, laws=cache.LAWS)


def test_on_sound_code_every_law_of_caches_is_kept() -> None:
    assert [line.law for line in tried(sound()).of(Verdict.KEPT)] == NAMES


def altered(adapter: Adapter, **changes: Any) -> Adapter:
    """The adapter with another start, step or reorder."""
    assert adapter.cached is not None
    own = {name: getattr(adapter.cached, name) for name in ("start", "step", "reorder")}
    return adapter.replace(cached=CachedDecoder(**own | changes))


def forgets_the_mask(adapter: Adapter) -> Adapter:
    """Padding of the source is seen, but only with the cache."""
    start = adapter.cached.start  # type: ignore[union-attr]

    def seeing(src: Tensor) -> Any:
        memory, mask, layers = start(src)
        return [memory, torch.ones_like(mask), layers]

    return altered(adapter, start=seeing)


def begins_each_step_at_the_first_position(adapter: Adapter) -> Adapter:
    step = adapter.cached.step  # type: ignore[union-attr]

    def at_first(tokens: Tensor, cache: Any) -> Any:
        return step(tokens, [*cache[:2], adapter.module.new_cache()])  # type: ignore[union-attr, operator]

    return altered(adapter, step=at_first)


def leaves_rows_where_they_are(adapter: Adapter) -> Adapter:
    return altered(adapter, reorder=lambda cache, rows: cache)


def reorders_no_memory(adapter: Adapter) -> Adapter:
    """Right within a sentence, wrong where sentences end at different times."""

    def reorder(cache: Any, rows: Tensor) -> Any:
        for own, _ in cache[2].layers:
            own.select(rows)
        return cache

    return altered(adapter, reorder=reorder)


def keeps_one_cache_for_all(adapter: Adapter) -> Adapter:
    """What was read of the sentence before stays."""
    module: Any = adapter.module
    held: dict[int, Any] = {}

    def start(src: Tensor) -> Any:
        mask = padding_mask(src)
        layers = held.setdefault(len(src), module.new_cache())
        return [module.encode(src, mask), mask, layers]

    return altered(adapter, start=start)


def decodes_without_the_mask(adapter: Adapter) -> Adapter:
    module: Any = adapter.module
    return adapter.replace(
        decode=lambda tgt_in, memory, src: module.decode(
            tgt_in, memory, torch.ones_like(padding_mask(src))
        )
    )


@pytest.mark.parametrize(
    ("fault", "law"),
    [
        (decodes_without_the_mask, "encode_then_decode"),
        (forgets_the_mask, "cache"),
        (begins_each_step_at_the_first_position, "cache"),
        (leaves_rows_where_they_are, "cache_reordered"),
        (reorders_no_memory, "cache_reordered"),
        (keeps_one_cache_for_all, "cache_begins_empty"),
    ],
)
def test_a_fault_breaks_its_law_and_shows_where(
    fault: Callable[[Adapter], Adapter], law: str
) -> None:
    report = tried(fault(sound()))
    assert law in report.broken
    assert "src [" in report[law].seen


def test_beams_of_one_sentence_and_rows_of_any_are_told_apart() -> None:
    assert "(of any)" in tried(reorders_no_memory(sound()))["cache_reordered"].seen
    left = tried(leaves_rows_where_they_are(sound()))["cache_reordered"].seen
    assert "(of the same sentence)" in left


def test_what_is_missing_is_said() -> None:
    report = tried(sound().replace(cached=None, encode=None))
    assert [line.law for line in report.of(Verdict.NOT_TRIED)] == NAMES
    assert report["cache"].seen == "the adapter has no cached"
    report = tried(altered(sound(), reorder=None))
    assert report["cache_reordered"].seen == "the adapter's `cached` has no `reorder`"
    assert report["cache"].verdict == Verdict.KEPT


def test_logits_of_another_shape_are_no_fault_of_the_model() -> None:
    adapter = sound()
    step = adapter.cached.step  # type: ignore[union-attr]

    def longer(tokens: Tensor, cache: Any) -> Any:
        logits, cache = step(tokens, cache)
        return logits[:, None], cache

    line = tried(altered(adapter, step=longer))["cache"]
    assert line.verdict == Verdict.NOT_TRIED
    assert "(1, 1, 29)" in line.seen
    assert "(batch, vocab)" in line.seen


def test_without_padding_sources_are_of_one_length() -> None:
    assert not tried(sound().replace(pad_id=None)).broken
