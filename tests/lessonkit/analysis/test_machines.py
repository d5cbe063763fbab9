"""Machines, a step's kinds of work, the noise of gradients: by hand."""

import pytest
import torch
from torch import Tensor, nn

from lessonkit.analysis import machines
from lessonkit.analysis.noise import gradient_noise
from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Batch
from transformer.model import Transformer
from transformer.support.errors import UserError
from transformer.training.loss import batch_loss


def test_costs_intensity_and_roof_by_hand() -> None:
    costs = [
        machines.training_cost(hours, 8, machines.SUSTAINED["P100"]) for hours in (12, 3.5 * 24)
    ]
    assert [f"{cost:.1e}" for cost in costs] == ["3.3e+18", "2.3e+19"]  # Table 2
    # 3 vectors of width 5: 150 operations; 15 + 25 + 15 numbers.
    assert machines.product_flops(3, 5) == 150
    assert machines.intensity(3, 5) == pytest.approx(150 / (4 * 55))
    assert machines.intensity(3, 5, number_bytes=2) == pytest.approx(150 / (2 * 55))
    toy = machines.Machine("toy", flops=60.0, bandwidth=4.0)
    assert [machines.attainable(toy, each) for each in (1, 15, 16)] == [4, 60, 60]


def test_an_exchange_by_hand() -> None:
    # Of 3 numbers each of 3 machines sends a third, 4 bytes, four times: at 3 bytes a second.
    assert machines.exchange_seconds(3, 3, 3.0) == pytest.approx(4 * 4 / 3)
    assert machines.exchange_seconds(10**9, 1, 0.0) == 0
    with pytest.raises(UserError, match="2 machines and a link of 0 bytes/s: give a faster link"):
        machines.exchange_seconds(10**9, 2, 0)


def test_shares_are_of_one_whole_and_the_step_is_made() -> None:
    shape = ModelConfig(d_model=12, d_ff=17, num_heads=3, num_layers=1)
    model = Transformer(shape, src_vocab_size=23, tgt_vocab_size=23)
    tgt = torch.randint(4, 23, (3, 7))
    made: list[float] = []

    def step() -> None:
        sums = batch_loss(model, Batch(tgt, tgt, tgt), TrainingConfig())
        sums.loss.backward()
        made.append(float(sums.nll))

    found = machines.shares(step, steps=2)
    assert len(made) == 3  # one before the clock runs
    assert list(found) == [*machines.KINDS, machines.REST]
    assert sum(found.values()) == pytest.approx(1)
    assert all(found[name] > 0 for name in ("products", "attention", "loss", "norm", machines.REST))
    assert found["Adam"] == 0
    large, small = torch.randn(700, 700), torch.randn(3)
    assert machines.shares(lambda: (large @ large, small + small), steps=2)["products"] > 0.9


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
    found = gradient_noise(Guess(), batches(400, 23, drawn.tolist()))
    assert found.scale == pytest.approx(noise / signal, rel=0.1)
    assert found.tokens == 23
    assert found.single == pytest.approx(signal + noise / 23, rel=0.1)
    assert found.joint == pytest.approx(signal, rel=0.1)
    # What two batches have in common is the signal; nearly, for it is a mean of ratios.
    assert found.cosine == pytest.approx(signal / (signal + noise / 23), abs=0.05)


def test_equal_batches_have_no_noise_and_too_few_or_no_signal_are_refused() -> None:
    same, one, other = (torch.tensor([ids]) for ids in ([4, 5, 6], [4], [5]))
    found = gradient_noise(Guess(), [Batch(same, same, same)] * 3)
    assert found.scale == pytest.approx(0, abs=1e-5)
    assert found.cosine == pytest.approx(1)
    with pytest.raises(UserError, match="1 batches: give two or more"):
        gradient_noise(Guess(), [Batch(one, one, one)])
    model = Guess()
    model.scores.data[[0, 1, 2, 3, 6]] = -100.0  # sure of two tokens: their gradients cancel
    with pytest.raises(UserError, match="2 batches tell no signal from the noise"):
        gradient_noise(model, [Batch(one, one, one), Batch(other, other, other)])


def test_what_is_kept_for_the_backward_pass_by_hand() -> None:
    model, inputs = nn.Linear(3, 5, bias=False), torch.rand(7, 3)
    # The square keeps its input, (7, 5); the product keeps (7, 3) and the weights, which are ours.
    kept = machines.megabytes_kept(model, lambda: model(inputs).square())
    assert kept == pytest.approx(4 * (7 * 5 + 7 * 3) / 1e6)
    assert machines.megabytes_kept(model, lambda: inputs.square()) == 0  # it asks for no gradient


def doubled(number: int) -> int:
    return 2 * number


@pytest.mark.slow
def test_a_script_runs_in_two_processes_with_functions_of_ours() -> None:
    script = "import os\nprint(twice(int(os.environ['WORLD_SIZE'])))"  # lines may run together
    assert sorted(machines.in_two_processes(script, twice=doubled)) == ["\n", "\n", "4", "4"]
    with pytest.raises(UserError, match="ZeroDivisionError"):
        machines.in_two_processes("1 / 0")
