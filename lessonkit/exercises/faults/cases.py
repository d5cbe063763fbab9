"""Six models without a label: the learner examines them, and names what is wrong.

Not in the paper. Nothing that is answered raises.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attention_laws.adapter import Adapter
from lessonkit.exercises.asking import as_word
from lessonkit.exercises.check import Text, fill, is_blank
from lessonkit.exercises.faults.causes import CAUSES, NOTHING
from lessonkit.museum import SPECIMENS, sound
from transformer.support.errors import UserError

NUMBERS = ("one", "two", "three", "four", "five", "six")
CELL = f"ex.cases.answer({', '.join(f'{number}=None' for number in NUMBERS)})"
SEED = 3  # of the weights


@dataclass(frozen=True)
class Case:
    """A model without a label.

    Attributes:
        specimen: Its name in the museum; "" where it is the sound one.
        cause: The letter of what is wrong with it.
        says: What is said of the right answer.
        hints: From gentle to plain.
    """

    specimen: str
    cause: str
    says: str
    hints: Sequence[str]

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
        cases: The models, in order.
        causes: What may be wrong: by letter, a name and what would follow from it.
    """

    def __init__(self, cases: Sequence[Case], causes: Mapping[str, tuple[str, str]]) -> None:
        self.cases, self.causes = tuple(cases), dict(causes)
        self._hints_given = [0] * len(self.cases)

    def __repr__(self) -> str:
        """Name what it offers."""
        return f"Six models without a label: ex.cases.model(1), ex.cases.hint(1), {CELL}"

    def model(self, number: int) -> Adapter:
        """Make a case, ready for `diagnose` and for experiments of one's own.

        Args:
            number: 1 to 6.

        Raises:
            UserError: there is no such case.
        """
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
        """Show what a case may be, and judge what was answered.

        Args:
            one: The letter of what is wrong with case 1.
            two: With case 2.
            three: With case 3.
            four: With case 4.
            five: With case 5.
            six: With case 6.

        Returns:
            The causes and the verdicts; "passed" where all six are right.
        """
        given = (one, two, three, four, five, six)
        lines = [fill(name, f"{letter}  ") for letter, (name, _) in self.causes.items()]
        statuses = []
        for number, (case, letter) in enumerate(zip(self.cases, given, strict=True), start=1):
            status, says = self._judge(case, letter)
            statuses.append(status)
            if says:
                lines += ["", fill(says, f"{number}. ")]
        right, open_ = statuses.count("passed"), statuses.count("not attempted")
        count = f"{right} of {len(given)} right" + (f", {open_} not attempted" if open_ else "")
        lines += ["", f"{count}. Put a letter in place of None." if open_ else f"{count}."]
        if "wrong" in statuses:
            return Text("\n".join(lines), "wrong")
        return Text("\n".join(lines), "not attempted" if open_ else "passed")

    def hint(self, number: int) -> Text:
        """Give a case's next hint, a plainer one each time; the last one again at the end.

        Args:
            number: 1 to 6.

        Raises:
            UserError: there is no such case.
        """
        hints = self._case(number).hints
        given = min(self._hints_given[number - 1] + 1, len(hints))
        self._hints_given[number - 1] = given
        return Text(fill(f"Hint {given} of {len(hints)}. {hints[given - 1]}"))

    def solution(self, number: int) -> Text:
        """Say what is wrong with a case.

        Args:
            number: 1 to 6.

        Raises:
            UserError: there is no such case.
        """
        case = self._case(number)
        return Text(fill(f"{case.cause}: {self.causes[case.cause][0]}. {case.says}"))

    def _case(self, number: int) -> Case:
        if number not in range(1, len(self.cases) + 1):
            raise UserError(f"there is no case {number!r}: the cases are 1 to {len(self.cases)}")
        return self.cases[number - 1]

    def _judge(self, case: Case, given: Any) -> tuple[Any, str]:
        """Say of one answer whether it is right; of a wrong one what would follow from it."""
        if is_blank(given):
            return "not attempted", ""
        letter = as_word(given)
        if letter not in self.causes:
            return "wrong", f'Answer with a letter, "a" to "{list(self.causes)[-1]}".'
        if letter == case.cause:
            return "passed", f"{letter}: right. {case.says}"
        return "wrong", f"{letter}: no. {self.causes[letter][1]}"


cases = Cases(
    (
        Case(
            "padding_attended_by_the_decoder",
            "e",
            "The encoder is given the mask, cross-attention is not. A translation then depends on "
            "how long the longest sentence of its batch is.",
            (
                "Run `diagnose`. What does it say of a sentence alone and in company? Which parts "
                "of the model look at the source?",
                "`model.encode(src)` gives the memory. Compare that of a sentence alone with that "
                "of the same sentence padded, at its real places: does the encoder look at "
                "padding?",
            ),
        ),
        Case(
            "gradient_kept",
            "i",
            "`zero_grad` is missing: each step goes along the sum of all gradients so far.",
            (
                "The model itself is sound. What does `diagnose` say of the steps?",
                "Do the weights move at all? Then look at `.grad` after one step, and after "
                "another: does the first batch still count in the second?",
            ),
        ),
        Case(
            "one_ahead",
            "c",
            "The next token is seen, and that is the one to predict. Two layers see two ahead, "
            "since the second reads what the first has seen.",
            (
                "Some law says that a token is seen too early. How much too early?",
                "Change the *last* token of a target of seven, and see which positions move: all "
                "before it, or only the nearest?",
            ),
        ),
        Case(
            "",
            NOTHING,
            "No law is broken. This is the museum's sound model: a check that finds a fault in "
            "everything is worth nothing.",
            (
                "Run `diagnose` and read its first line.",
                "Not every model that is examined is ill.",
            ),
        ),
        Case(
            "cache_of_the_sentence_before",
            "m",
            "Keys and values of the source are made once, for the first sentence. Whoever comes "
            "after it, and has as many rows and tokens, gets that sentence's.",
            (
                "The logits of one pass are right. When are those of the cache wrong: from which "
                "step on, from which sentence on?",
                "Translate a sentence with a model just made, then another of the same length, "
                "then each with a model of its own.",
            ),
        ),
        Case(
            "own_value",
            "f",
            "The weights are right, and are lost: they sum to one over the keys, while the value "
            "that they multiply is the query's own.",
            (
                "Which source tokens reach which outputs? And does it matter in what order they "
                "stand?",
                "Exchange one source token, and look at the memory: does any other place move?",
            ),
        ),
    ),
    CAUSES,
)
