"""Ten tickets: what was reported, a training log, experiments to choose from, and a judge.

Not in the paper. The models have faults of the museum, which are not shown. Nothing that is
answered raises. The texts stand in `words/16.toml`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from lessonkit.exercises.answers import is_blank, to_lower_case_word
from lessonkit.exercises.message import AnswerStatus, Message, score_message, wrap_text
from lessonkit.exercises.ticket_experiments import EXPERIMENTS, gradient_norm, train_step
from lessonkit.museum import FAULTS, sound_adapter
from transformer.support.errors import UserError

NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# The cell that the lesson offers to fill in.
ANSWER_CELL = "\n".join(
    ["tickets.answer(", *(f"    {number}=None," for number in NUMBER_WORDS), ")"]
)
MODEL_SEED = 3  # of the weights
MAX_EXPERIMENTS_IN_ALL = 12  # for all tickets together
EXPERIMENT_NAME_PATTERN = re.compile(r"`(\w+)`")  # in what is said of a cause
LOGGED_STEPS = (1, 20, 40, 60)


@dataclass(frozen=True)
class Ticket:
    """What somebody reported of a model."""

    fault: str  # its name in the museum; "" if the model is sound
    cause: str  # the letter of what is wrong with it
    report: str  # what is said of it
    why: str  # what is said of the right answer

    def build_model(self) -> Any:
        """Build the model, its weights freshly drawn."""
        builders: dict[str, Callable[[int], Any]] = {fault.name: fault.build for fault in FAULTS}
        with torch.random.fork_rng(devices=[]):  # building seeds PyTorch's own generator
            return builders.get(self.fault, sound_adapter)(MODEL_SEED)


class Tickets:
    """The tickets, what may be wrong, and the judge of what is answered.

    Args:
        words: Its `list` has the tickets, in order; its `causes` what may be wrong: by letter, a
            name and what an experiment, named between backticks, would show. What is said of a
            sound model has `{experiment}` for the one that finds the fault.
    """

    def __init__(self, words: Mapping[str, Any]) -> None:
        self.tickets = [Ticket(**fields) for fields in words["list"]]
        self.causes: dict[str, tuple[str, str]] = words["causes"]
        self.made: set[tuple[int, str]] = set()  # experiments: a ticket's number, a name

    def __repr__(self) -> str:
        calls = "tickets.show_log(1), tickets.run_experiment(1, 'future'), tickets.answer(...)"
        return f"Ten tickets: {calls}"

    def show_log(self, number: int) -> Message:
        """Print a ticket, 1 to 10: what was reported, and the log of 60 steps of copying."""
        ticket = self._find_ticket(number)
        generator = torch.Generator().manual_seed(MODEL_SEED)
        model = ticket.build_model()
        lines = [wrap_text(ticket.report, f"{number}. ")]
        for step in range(1, LOGGED_STEPS[-1] + 1):
            lengths = torch.randint(3, 8, (16,), generator=generator).tolist()
            sentences = [
                torch.randint(4, 23, (length,), generator=generator).tolist() for length in lengths
            ]
            loss = train_step(model, sentences, sentences)
            if step in LOGGED_STEPS:
                norm = gradient_norm(model)
                lines.append(f"   step {step:2}: loss {loss:.1f}, gradient norm {norm:.1f}")
        return Message("\n".join(lines)).printed()

    def run_experiment(self, number: int, name: str) -> Message:
        """Print what an experiment shows on a ticket's model, freshly built; each counts once."""
        ticket = self._find_ticket(number)
        if name not in EXPERIMENTS:
            raise UserError(f"there is no experiment {name!r}: choose {', '.join(EXPERIMENTS)}")
        if (number, name) not in self.made and len(self.made) == MAX_EXPERIMENTS_IN_ALL:
            text = (
                f"All {MAX_EXPERIMENTS_IN_ALL} experiments are used up: answer with what you know."
            )
            return Message(text).printed()
        self.made.add((number, name))
        model = ticket.build_model()
        model.module.eval()
        result = wrap_text(f"{EXPERIMENTS[name](model)}.", f"{number}. {name}: ")
        left = MAX_EXPERIMENTS_IN_ALL - len(self.made)
        return Message(f"{result}\n{left} of {MAX_EXPERIMENTS_IN_ALL} experiments left.").printed()

    def answer(self, **letters: Any) -> Message:
        """Print what may be wrong, and judge what was answered: one="a", two="k" ..."""
        lines = [wrap_text(name, f"{letter}  ") for letter, (name, _) in self.causes.items()]
        statuses: list[AnswerStatus] = []
        for place, (number, ticket) in enumerate(
            zip(NUMBER_WORDS, self.tickets, strict=True), start=1
        ):
            status, comment = self._judge(ticket, letters.get(number))
            statuses.append(status)
            if comment:
                lines += ["", wrap_text(comment, f"{place}. ")]
        lines += ["", f"Experiments used: {len(self.made)} of {MAX_EXPERIMENTS_IN_ALL}."]
        return score_message(lines, statuses, "a letter").printed()

    def _find_ticket(self, number: int) -> Ticket:
        if number not in range(1, len(self.tickets) + 1):
            raise UserError(f"there is no ticket {number!r}: they are 1 to {len(self.tickets)}")
        return self.tickets[number - 1]

    def _judge(self, ticket: Ticket, answer: Any) -> tuple[AnswerStatus, str]:
        """Return whether one answer is right; of a wrong one, what would follow from it."""
        if is_blank(answer):
            return "not attempted", ""
        letter = to_lower_case_word(answer)
        if letter not in self.causes:
            return "wrong", f'Answer with a letter, "a" to "{max(self.causes)}".'
        if letter == ticket.cause:
            return "passed", f"{letter}: right. {ticket.why}"
        experiment = EXPERIMENT_NAME_PATTERN.search(self.causes[ticket.cause][1])
        name = experiment[1] if experiment else ""
        return "wrong", f"{letter}: no. {self.causes[letter][1].replace('{experiment}', name)}"
