"""Ten tickets: what was reported, a training log, experiments to choose from, and a judge.

Not in the paper. The models are faults of the museum, and are not shown. Nothing that is
answered raises. The texts stand in `words/14.toml`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lessonkit.exercises.asking import as_word, counted
from lessonkit.exercises.check import Status, Text, fill, is_blank
from lessonkit.museum import FAULTS, sound_adapter
from transformer.support.errors import UserError

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
CELL = "tickets.answer(\n{})".format("".join(f"    {each}=None,\n" for each in NUMBERS))
SEED = 3  # of the weights
BUDGET = 20  # experiments, for all tickets together
STEPS = (1, 20, 40, 60)  # of a log

SRC = torch.tensor([[7, 8, 16, 3]])
TGT_IN = torch.tensor([[2, 5, 28, 22, 21, 9, 11]])


def future(model: Any) -> str:
    """Change one target token, and look at the logits before it."""
    moved = {place: _moved(model, SRC, _exchanged(TGT_IN, place, 4)) for place in (1, 2, 6)}
    with_which = ", ".join(f"by {by:.2f} with the token at {at}" for at, by in moved.items())
    return f"the logits at position 0 move {with_which}"


def padding(model: Any) -> str:
    """Append padding to the source, and look at the memory and at the logits."""
    padded = torch.nn.functional.pad(SRC, (0, 2))
    memory = _apart(model.encode(SRC), model.encode(padded)[:, : SRC.shape[1]])
    return f"the memory moves by {memory:.2f}, the logits by {_moved(model, padded, TGT_IN):.2f}"


def neighbour(model: Any) -> str:
    """Exchange one source token, and look at the memory of the others."""
    others = [0, 2, 3]
    changed = model.encode(_exchanged(SRC, 1, 12))[0, others]
    return f"the memory of the others moves by {_apart(model.encode(SRC)[0, others], changed):.2f}"


def rows(model: Any) -> str:
    """Put the same sentence into a batch twice, and compare its logits."""
    twice = model.forward(SRC.expand(2, -1), TGT_IN.expand(2, -1))
    return f"the logits of the two rows are {_apart(*twice):.2f} apart"


def step(model: Any) -> str:
    """Make the same step twice from the same weights, and look at weights and gradients."""
    kept = {name: each.clone() for name, each in model.module.state_dict().items()}
    norms = []
    for _ in range(2):
        model.module.load_state_dict(kept)
        _train(model, [[7, 8, 16], [9, 4]], [[5, 28, 22], [21, 6]])
        norms.append(_norm(model))
    after = model.module.state_dict()
    moved = sum(not torch.equal(kept[name], after[name]) for name in kept)
    return f"{moved} of {len(kept)} tensors move; gradient norm {norms[0]:.1f}, then {norms[1]:.1f}"


def loss(model: Any) -> str:
    """Change the logits at padding alone, and look at the loss."""
    logits = torch.randn(2, 3, model.tgt_vocab_size, generator=torch.Generator().manual_seed(0))
    tgt_out, changed = torch.tensor([[5, 6, 3], [7, 3, 0]]), logits.clone()
    changed[1, 2] *= -1
    moved = _apart(model.loss(logits, tgt_out), model.loss(changed, tgt_out))
    return f"the loss moves by {moved:.2f}"


def cache(model: Any) -> str:
    """Go step by step with the cache, and compare with one pass: twice, and with rows exchanged."""
    sources = SRC, torch.tensor([[12, 9, 4, 3]])
    stepped = [_step_by_step(model, src) for src in sources]
    apart = [
        _apart(found, model.forward(src, TGT_IN))
        for src, found in zip(sources, stepped, strict=True)
    ]
    return (
        f"the first sentence is {apart[0]:.2f} apart, the second {apart[1]:.2f}, "
        f"with its rows exchanged {_rows_exchanged(model):.2f}"
    )


MENU: dict[str, Callable[[Any], str]] = {
    each.__name__: each for each in (future, padding, neighbour, rows, step, loss, cache)
}


def _apart(one: Tensor, other: Tensor) -> float:
    return float((one - other).detach().abs().max())


def _moved(model: Any, src: Tensor, tgt_in: Tensor) -> float:
    return _apart(model.forward(SRC, TGT_IN)[0, 0], model.forward(src, tgt_in)[0, 0])


def _exchanged(ids: Tensor, place: int, token: int) -> Tensor:
    changed = ids.clone()
    changed[0, place] = token
    return changed


def _train(model: Any, sources: list[list[int]], targets: list[list[int]]) -> float:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return float(model.train_step(*model.make_batch(sources, targets)))


def _norm(model: Any) -> float:
    grads = [each.grad for each in model.module.parameters() if each.grad is not None]
    return float(torch.nn.utils.get_total_norm(grads))


def _step_by_step(model: Any, src: Tensor) -> Tensor:
    state, logits = model.cached.start(src), []
    for place in range(TGT_IN.shape[1]):
        found, state = model.cached.step(TGT_IN[:, place : place + 1], state)
        logits.append(found)
    return torch.stack(logits, dim=1)


def _rows_exchanged(model: Any) -> float:
    """Let two targets of one source change places after three steps: how far off is the fourth?"""
    src, swap = SRC.expand(2, -1), torch.tensor([1, 0])
    tgt_in = torch.cat((TGT_IN, torch.tensor([[2, 8, 17, 5, 26, 13, 4]])))
    state = model.cached.start(src)
    for place in range(3):
        _, state = model.cached.step(tgt_in[:, place : place + 1], state)
    state, tgt_in = model.cached.reorder(state, swap), tgt_in[swap]
    logits, _ = model.cached.step(tgt_in[:, 3:4], state)
    return _apart(logits, model.forward(src, tgt_in)[:, 3])


@dataclass(frozen=True)
class Ticket:
    """What somebody reported of a model."""

    fault: str  # its name in the museum; "" where it is the sound one
    cause: str  # the letter of what is wrong with it
    report: str  # what is said of it
    says: str  # what is said of the right answer

    def make(self) -> Any:
        """Make the model, its weights freshly drawn."""
        makers: dict[str, Callable[[int], Any]] = {each.name: each.build for each in FAULTS}
        with torch.random.fork_rng(devices=[]):  # what is made seeds the generator of all
            return makers.get(self.fault, sound_adapter)(SEED)


class Tickets:
    """The tickets, what may be wrong, and the judge of what is answered.

    Args:
        words: Its `list` has the tickets, in order; its `causes` what may be wrong: by letter, a
            name and what an experiment would show.
    """

    def __init__(self, words: Mapping[str, Any]) -> None:
        self.list = [Ticket(**each) for each in words["list"]]
        self.causes: dict[str, tuple[str, str]] = words["causes"]
        self.used: set[tuple[int, str]] = set()

    def __repr__(self) -> str:
        return "Ten tickets: tickets.log(1), tickets.experiment(1, 'future'), tickets.answer(...)"

    def log(self, number: int) -> Text:
        """Show a ticket, 1 to 10: what was reported, and the log of 60 steps of copying."""
        ticket, chance = self._ticket(number), torch.Generator().manual_seed(SEED)
        model, lines = ticket.make(), [fill(ticket.report, f"{number}. ")]
        for at in range(1, STEPS[-1] + 1):
            lengths = torch.randint(3, 8, (16,), generator=chance).tolist()
            batch = [torch.randint(4, 23, (each,), generator=chance).tolist() for each in lengths]
            told = _train(model, batch, batch)
            if at in STEPS:
                lines.append(f"   step {at:2}: loss {told:.1f}, gradient norm {_norm(model):.1f}")
        return Text("\n".join(lines))

    def experiment(self, number: int, name: str) -> Text:
        """Make an experiment of the menu on a ticket's model, freshly made; each counts once."""
        ticket = self._ticket(number)
        if name not in MENU:
            raise UserError(f"there is no experiment {name!r}: choose {', '.join(MENU)}")
        if (number, name) not in self.used and len(self.used) == BUDGET:
            return Text(f"All {BUDGET} experiments are used up: answer with what you know.")
        self.used.add((number, name))
        model = ticket.make()
        model.module.eval()
        found = fill(f"{MENU[name](model)}.", f"{number}. {name}: ")
        return Text(f"{found}\n{BUDGET - len(self.used)} of {BUDGET} experiments left.")

    def answer(self, **letters: Any) -> Text:
        """Show what may be wrong, and judge what was answered: one="a", two="k" ..."""
        lines = [fill(name, f"{letter}  ") for letter, (name, _) in self.causes.items()]
        statuses: list[Status] = []
        for place, (number, ticket) in enumerate(zip(NUMBERS, self.list, strict=True), start=1):
            status, says = self._judge(ticket, letters.get(number))
            statuses.append(status)
            lines += ["", fill(says, f"{place}. ")] * bool(says)
        used = f"Experiments used: {len(self.used)} of {BUDGET}."
        return counted([*lines, "", used], statuses, "a letter")

    def _ticket(self, number: int) -> Ticket:
        if number not in range(1, len(self.list) + 1):
            raise UserError(f"there is no ticket {number!r}: they are 1 to {len(self.list)}")
        return self.list[number - 1]

    def _judge(self, ticket: Ticket, given: Any) -> tuple[Status, str]:
        """Say of one answer whether it is right; of a wrong one what would follow from it."""
        if is_blank(given):
            return "not attempted", ""
        letter = as_word(given)
        if letter not in self.causes:
            return "wrong", f'Answer with a letter, "a" to "{max(self.causes)}".'
        if letter == ticket.cause:
            return "passed", f"{letter}: right. {ticket.says}"
        return "wrong", f"{letter}: no. {self.causes[letter][1]}"
