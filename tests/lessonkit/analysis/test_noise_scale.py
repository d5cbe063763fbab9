"""The noise scale of gradients, where the variance is known."""

import pytest
import torch
from torch import Tensor, nn

from lessonkit.analysis.noise_scale import estimate_gradient_noise
from transformer.data.batches import Batch
from transformer.support.errors import UserError


class Guess(nn.Module):
    """Guesses every token with the same probabilities, whatever it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = nn.Parameter(torch.zeros(7))

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        return self.scores.expand(*tgt_in.shape, 7)


def batches(number: int, tokens: int, probabilities: list[float]) -> list[Batch]:
    """Batches of random tokens, independent of each other, an eighth id each."""
    weights = torch.tensor(probabilities)
    rows = torch.multinomial(weights, number * tokens, replacement=True).reshape(number, 1, tokens)
    return [Batch(row + 1, row + 1, row + 1) for row in rows]


def test_it_finds_the_noise_of_tokens_that_are_drawn() -> None:
    """The gradient of a token is p - q, where q is 1 at the token: its variance is known."""
    torch.manual_seed(1)
    drawn = torch.tensor([0.05, 0.25, 0.3, 0.1, 0.2, 0.1])
    guess = torch.full((7,), 1 / 7)
    truth = torch.cat((torch.zeros(1), drawn))
    signal = float((guess - truth).square().sum())
    noise = float((truth * (1 - truth)).sum())
    found = estimate_gradient_noise(Guess(), batches(400, 23, drawn.tolist()))
    assert found.scale == pytest.approx(noise / signal, rel=0.1)
    assert found.tokens == 23
    assert found.single == pytest.approx(signal + noise / 23, rel=0.1)
    assert found.joint == pytest.approx(signal, rel=0.1)
    # What two batches have in common is the signal; nearly, for it is a mean of ratios.
    assert found.cosine == pytest.approx(signal / (signal + noise / 23), abs=0.05)


def test_equal_batches_have_no_noise_and_too_few_or_no_signal_are_refused() -> None:
    same, one, other = (torch.tensor([ids]) for ids in ([4, 5, 6], [4], [5]))
    found = estimate_gradient_noise(Guess(), [Batch(same, same, same)] * 3)
    assert found.scale == pytest.approx(0, abs=1e-5)
    assert found.cosine == pytest.approx(1)
    with pytest.raises(UserError, match="1 batches: give two or more"):
        estimate_gradient_noise(Guess(), [Batch(one, one, one)])
    model = Guess()
    model.scores.data[[0, 1, 2, 3, 6]] = -100.0  # sure of two tokens: their gradients cancel
    with pytest.raises(UserError, match="2 batches tell no signal from the noise"):
        estimate_gradient_noise(model, [Batch(one, one, one), Batch(other, other, other)])
