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


def altered(adapter: Adapter, **changes: Any) -> Adapter:
    """The adapter with another start, step or reorder."""
    assert adapter.cached is not None
    own = {name: getattr(adapter.cached, name) for name in ("start", "step", "reorder")}
    return adapter.replace(cached=CachedDecoder(**own | changes))


def reorders_no_memory(adapter: Adapter) -> Adapter:
    """Right within a sentence, wrong where sentences end at different times."""

    def reorder(cache: Any, rows: Tensor) -> Any:
        for own, _ in cache[2].layers:
            own.select(rows)
        return cache

    return altered(adapter, reorder=reorder)


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
        (reorders_no_memory, "cache_reordered"),
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
    left = tried(altered(sound(), reorder=lambda cache, rows: cache))["cache_reordered"].seen
    assert "(of the same sentence)" in left
    none = tried(altered(sound(), reorder=None))["cache_reordered"]
    assert none.seen == "the adapter's `cached` has no `reorder`"


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
