"""Models without a label: the learner examines them, and names what is wrong.

Not in the paper. Nothing that is answered raises. The texts stand in `words/14.toml`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attention_laws.adapter import Adapter
from lessonkit.exercises.asking import as_word, counted
from lessonkit.exercises.check import Status, Text, fill, is_blank
from lessonkit.museum import SPECIMENS, sound
from transformer.support.errors import UserError

NUMBERS = ("one", "two", "three", "four", "five", "six")
CELL = f"ex.cases.answer({', '.join(f'{number}=None' for number in NUMBERS)})"
SEED = 3  # of the weights


@dataclass(frozen=True)
class Case:
    """A model without a label."""

    specimen: str  # its name in the museum; "" where it is the sound one
    cause: str  # the letter of what is wrong with it
    says: str  # what is said of the right answer
    hints: Sequence[str]  # from gentle to plain

    def make(self) -> Adapter:
        """Make the model, its weights freshly drawn."""
        if not self.specimen:
            return sound(SEED)
        made = {each.name: each for each in SPECIMENS}[self.specimen].make(SEED)
        assert isinstance(made, Adapter)
        return made


class Cases:
    """The six cases, what they may be, and the judge of what is answered.

    Args:
        words: Its `models` are the cases, in order; its `causes` what may be wrong: by letter, a
            name and what would follow from it.
    """

    def __init__(self, words: Mapping[str, Any]) -> None:
        self.cases = [Case(**each) for each in words["models"]]
        self.causes: dict[str, tuple[str, str]] = words["causes"]
        self._hints_given = [0] * len(self.cases)

    def __repr__(self) -> str:
        """Name what it offers."""
        return f"Six models without a label: ex.cases.model(1), ex.cases.hint(1), {CELL}"

    def model(self, number: int) -> Adapter:
        """Make a case, 1 to 6, ready for `diagnose` and for experiments of one's own."""
        return self._case(number).make()

    def answer(
        self,
        one: Any = None,
        two: Any = None,
        three: Any = None,
        four: Any = None,
        five: Any = None,
        six: Any = None,
    ) -> Text:
        """Show what a case may be, and judge what was answered: the letter of each one's cause."""
        lines = [fill(name, f"{letter}  ") for letter, (name, _) in self.causes.items()]
        statuses: list[Status] = []
        answered = zip(self.cases, (one, two, three, four, five, six), strict=True)
        for number, (case, given) in enumerate(answered, start=1):
            status, says = self._judge(case, given)
            statuses.append(status)
            lines += ["", fill(says, f"{number}. ")] * bool(says)
        return counted([*lines, ""], statuses, "a letter")

    def hint(self, number: int) -> Text:
        """Give the next hint of a case, 1 to 6, a plainer one each time; then the last again."""
        hints = self._case(number).hints
        given = min(self._hints_given[number - 1] + 1, len(hints))
        self._hints_given[number - 1] = given
        return Text(fill(f"Hint {given} of {len(hints)}. {hints[given - 1]}"))

    def solution(self, number: int) -> Text:
        """Say what is wrong with a case, 1 to 6."""
        case = self._case(number)
        return Text(fill(f"{case.cause}: {self.causes[case.cause][0]}. {case.says}"))

    def _case(self, number: int) -> Case:
        if number not in range(1, len(self.cases) + 1):
            raise UserError(f"there is no case {number!r}: the cases are 1 to {len(self.cases)}")
        return self.cases[number - 1]

    def _judge(self, case: Case, given: Any) -> tuple[Status, str]:
        """Say of one answer whether it is right; of a wrong one what would follow from it."""
        if is_blank(given):
            return "not attempted", ""
        letter = as_word(given)
        if letter not in self.causes:
            return "wrong", f'Answer with a letter, "a" to "{max(self.causes)}".'
        if letter == case.cause:
            return "passed", f"{letter}: right. {case.says}"
        return "wrong", f"{letter}: no. {self.causes[letter][1]}"
