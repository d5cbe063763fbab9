import contextlib
import copy

import torch
from torch import nn
from torch.optim import Adam
from torch.optim.lr_scheduler import LambdaLR

from attention_laws.model_state import (
    model_state_restored_afterwards,
    weights_temporarily_in_float64,
)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.tied = nn.Linear(3, 3, bias=False)
        self.tied.weight = self.linear.weight
        self.register_buffer("table", torch.ones(2), persistent=False)
        self.norm.eval()

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.tied(self.norm(self.linear(hidden)))


def train_once(model: Model, optimizer: torch.optim.Optimizer) -> None:
    model.train()
    model(torch.randn(5, 3)).square().sum().backward()
    optimizer.step()


def test_a_step_of_training_leaves_no_trace() -> None:
    model = Model()
    foreign = torch.ones(2, requires_grad=True)
    optimizer = Adam([*model.parameters(), foreign], lr=0.1)
    scheduler = LambdaLR(optimizer, lambda count: 1 / (1 + count))
    train_once(model, optimizer)
    model.norm.eval()

    def state() -> list:
        states = [part.state_dict() for part in (model, optimizer, scheduler)]
        grads = [weight.grad for weight in model.parameters()]
        return copy.deepcopy([*states, model.table, foreign.detach(), grads, torch.get_rng_state()])

    before = state()
    with model_state_restored_afterwards(model, optimizer, (scheduler,)):
        foreign.sum().backward()
        train_once(model, optimizer)
        scheduler.step()
        model.table.zero_()
        model.linear.weight.requires_grad_(False)
        optimizer.param_groups[0]["lr"] = 7.0
    torch.testing.assert_close(state(), before, rtol=0, atol=0)
    assert foreign.grad is None
    assert model.training
    assert not model.norm.training
    assert model.tied.weight is model.linear.weight
    assert model.linear.weight.requires_grad
    assert optimizer.param_groups[0]["params"][0] is model.linear.weight


def test_state_is_restored_after_an_error_and_for_an_optimizer_without_a_module() -> None:
    model, weight = Model(), torch.ones(3, requires_grad=True)
    before, optimizer = model.linear.weight.detach().clone(), Adam([weight], lr=0.1)
    with contextlib.suppress(KeyError), model_state_restored_afterwards(model), torch.no_grad():
        model.linear.weight.zero_()
        raise KeyError
    assert torch.equal(model.linear.weight, before)
    with model_state_restored_afterwards(None, optimizer):
        weight.sum().backward()
        optimizer.step()
    assert torch.equal(weight, torch.ones(3))
    assert weight.grad is None
    assert not optimizer.state


def test_weights_are_float64_in_the_block() -> None:
    model = Model()
    weight, values = model.linear.weight, model.linear.weight.detach().clone()
    with weights_temporarily_in_float64(model):
        assert model(torch.randn(5, 3, dtype=torch.float64)).dtype == torch.float64
        assert model.table.dtype == torch.float64
    assert model.linear.weight is weight
    assert weight.dtype == torch.float32
    assert torch.equal(weight, values)
    assert model.table.dtype == torch.float32
    assert model.norm.num_batches_tracked.dtype == torch.int64
