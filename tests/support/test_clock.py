"""The clock of the processor, and one thread."""

import contextlib
from typing import Any

import torch

from transformer.support.clock import Timed, cpu_seconds, one_thread


def test_one_thread_is_given_back() -> None:
    before = torch.get_num_threads()
    with contextlib.suppress(KeyError), one_thread():
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == before


def test_the_clock_is_the_processors() -> None:
    calls: list[int] = []
    assert cpu_seconds(lambda: calls.append(1), rounds=3) >= 0
    assert len(calls) == 4  # the first is not timed


def test_operations_are_timed_by_kind_and_seen_whole() -> None:
    seen: list[tuple[str, Any, Any]] = []

    def kind(name: str, values: Any) -> str:
        seen.append((name, *values))
        return name.removeprefix("aten::")

    left, right = torch.ones(3, 2), torch.ones(2, 5)
    with Timed(kind) as timed:
        (left @ right).neg()
    assert [name for name, *_ in seen] == ["aten::mm", "aten::neg"]
    (_, given, gave), _ = seen
    assert given[0] is left
    assert gave.shape == (3, 5)
    assert timed.seconds.keys() == {"mm", "neg"}
    assert min(timed.seconds.values()) >= 0
