"""Functions around a model that raise where forward does not, and those that refuse."""

from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attention_laws.bare_module import adapter_from_module
from experiments.laws.sound_models import SOUND_MODELS, run_as_module
from tests.attention_laws.one_law import expect

LAW = "functions_take_what_forward_takes"
MODERN, FUNCTIONAL = SOUND_MODELS["modern"].text, SOUND_MODELS["functional"].text
ADAPTER = run_as_module(FUNCTIONAL).make_adapter


@pytest.mark.parametrize(
    ("text", "old", "new", "seen"),
    [
        # An argmax over all rows: of one sentence alone it is right.
        (FUNCTIONAL, "logits.argmax(dim=-1)", "logits.argmax()", "`greedy` raises IndexError"),
        (FUNCTIONAL, "in zip(alive, logits", "in zip(alive[0], logits", "`beam` raises"),
        (MODERN, "torch.cat((past[0], k), dim=2)", "past[0] + k.cat", "`cached` raises"),
        (FUNCTIONAL, "weight = tgt_out.ne(PAD)", "weight = PAD", "`loss` raises AttributeError"),
    ],
)
def test_functions_that_raise(text: str, old: str, new: str, seen: str) -> None:
    assert text.count(old) == 1
    expect(run_as_module(text.replace(old, new)).make_adapter(), LAW, "broken", seen)


def test_a_search_that_raises_once_a_sentence_ends() -> None:
    adapter = ADAPTER()
    greedy: Any = adapter.greedy

    def ends_badly(src: Tensor, length: int) -> list[list[int]]:
        rows: list[list[int]] = greedy(src, length)
        return [[*row, row[length - 1]][:length] for row in rows]

    expect(adapter.replace(greedy=ends_badly, beam=None), LAW, "broken", "`greedy or beam` raises")


@pytest.mark.parametrize(
    "error",
    [
        NotImplementedError("one sentence at a time"),
        AssertionError("batch must be 1"),
        RuntimeError("Found no NVIDIA driver on your system"),
        TypeError("greedy() takes 1 positional argument but 2 were given"),
    ],
)
def test_a_refusal_is_no_fault(error: Exception) -> None:
    def refuses(src: Tensor, length: int) -> list[list[int]]:
        raised_elsewhere: Future[Any] = Future()
        raised_elsewhere.set_exception(error)
        rows: list[list[int]] = raised_elsewhere.result()
        return rows

    expect(ADAPTER().replace(greedy=refuses), LAW, "not tried", str(error)[:20])


def test_what_the_code_itself_raises_is_no_fault() -> None:
    def refuses(src: Tensor, length: int) -> list[list[int]]:
        raise RuntimeError("one sentence at a time")

    expect(ADAPTER().replace(greedy=refuses), LAW, "not tried", "one sentence at a time")


def test_a_loss_may_view_logits_that_the_model_transposed() -> None:
    adapter = ADAPTER()
    forward: Any = adapter.forward

    def transposed(src: Tensor, tgt_in: Tensor) -> Tensor:
        logits: Tensor = forward(src, tgt_in)
        return logits.transpose(0, 1).contiguous().transpose(0, 1)

    def viewed(logits: Tensor, tgt_out: Tensor) -> Tensor:
        return cross_entropy(logits.view(-1, logits.shape[-1]), tgt_out.view(-1))

    expect(adapter.replace(forward=transposed, loss=viewed), LAW, "kept")


class OwnCache(nn.Module):
    """A decoder-only model with a cache of its own form, which the caller makes."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.output = nn.Embedding(17, 8), nn.Linear(8, 17)

    def forward(
        self, input_ids: Tensor, past_key_values: Any = None, use_cache: bool = False
    ) -> Tensor:
        if use_cache:
            past_key_values.append(input_ids)
        logits: Tensor = self.output(self.embedding(input_ids).cumsum(dim=1))
        return logits


def test_a_cache_that_was_assumed_is_not_called_a_fault() -> None:
    adapter = adapter_from_module(OwnCache())
    assert adapter.cached is not None
    expect(adapter, LAW, "not tried", "no function but forward")
    own = replace(adapter.cached, is_assumed=False)
    expect(adapter.replace(cached=own), LAW, "broken", "`cached` raises AttributeError")
