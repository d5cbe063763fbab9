"""Weights that training never sees: mutants, written before the law, and sound designs beside."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attention_laws import Adapter
from attention_laws.bare_module import adapter_from_module
from experiments.laws.sound_model import D_MODEL, EncoderDecoder, FeedForward, Residual
from tests.attention_laws.one_law import expect, try_law

LAW = "weights_are_registered"


class FreshNorm(Residual):
    """The norm is made anew in each pass."""

    def forward(self, hidden: Tensor, sublayer: Any) -> Tensor:
        return nn.LayerNorm(D_MODEL)(hidden + self.dropout(sublayer(hidden)))


class LooseTensor(FeedForward):
    """A trainable tensor that is no parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = torch.ones(D_MODEL, requires_grad=True)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.gain * super().forward(hidden)


class Parametrized(FeedForward):
    """Its weights are computed in each pass, of parameters; a buffer scales the result."""

    def __init__(self) -> None:
        super().__init__()
        nn.utils.parametrizations.weight_norm(self.first)
        self.register_buffer("gain", torch.ones(D_MODEL))

    def forward(self, hidden: Tensor) -> Tensor:
        return self.gain * super().forward(hidden)


def with_layers_in_a_list(model: EncoderDecoder) -> None:
    layers = list(model.encoder)
    del model.encoder
    model.encoder = layers  # type: ignore[assignment]


def with_fresh_norm(model: EncoderDecoder) -> None:
    model.encoder[0].second = FreshNorm()


def with_loose_tensor(model: EncoderDecoder) -> None:
    model.decoder[1].feed_forward = LooseTensor()


def with_parametrization(model: EncoderDecoder) -> None:
    model.encoder[1].feed_forward = Parametrized()


def with_tied_output(model: EncoderDecoder) -> None:
    model.output.weight = model.tgt.words.weight


def with_frozen_embeddings(model: EncoderDecoder) -> None:
    model.src.words.weight.requires_grad_(False)


def changed(change: Callable[[EncoderDecoder], None]) -> Adapter:
    torch.manual_seed(0)
    model = EncoderDecoder()
    change(model)
    return adapter_from_module(model)


def test_weights_that_no_parameters_call_returns_are_found() -> None:
    expect(changed(with_layers_in_a_list), LAW, "broken", "EncoderLayer are")
    expect(changed(with_fresh_norm), LAW, "broken", "LayerNorm")
    expect(changed(with_loose_tensor), LAW, "broken", "(32,)")


class PlainTable(nn.Module):
    """Words are looked up in a tensor that is no parameter."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.table = torch.randn(rows, D_MODEL)

    def forward(self, ids: Tensor) -> Tensor:
        return nn.functional.embedding(ids, self.table)


class QuantizedTable(nn.Module):
    """The table is computed in each pass, of whole numbers in a buffer."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.register_buffer("table", torch.randint(-127, 128, (rows, D_MODEL)).to(torch.int8))

    def forward(self, ids: Tensor) -> Tensor:
        return nn.functional.embedding(ids, self.table / 127)


def with_plain_table(model: EncoderDecoder) -> None:
    model.src.words = PlainTable(model.src.words.num_embeddings)


def with_quantized_table(model: EncoderDecoder) -> None:
    model.src.words = QuantizedTable(model.src.words.num_embeddings)


def test_a_table_of_words_that_is_no_parameter_is_found() -> None:
    law = "words_are_looked_up_in_weights"
    expect(changed(with_plain_table), law, "broken", "neither parameter nor buffer")
    for change in (with_parametrization, with_tied_output, with_quantized_table):
        expect(changed(change), law, "kept", "2 tables")
    expect(changed(with_frozen_embeddings), law, "not tried", "frozen")


def test_sound_designs_are_left_alone() -> None:
    for change in (with_parametrization, with_tied_output, with_frozen_embeddings):
        expect(changed(change), LAW, "kept")


def test_what_the_optimizer_holds_is_trained_wherever_it_is() -> None:
    adapter = changed(with_loose_tensor)
    module: Any = adapter.module
    gain = module.decoder[1].feed_forward.gain
    optimizer = torch.optim.SGD([*module.parameters(), gain], lr=0.1)
    assert try_law(adapter.replace(optimizer=optimizer), LAW).verdict == "kept"
