"""What each head does beside what its removal costs, one row a head.

Not in the paper. `python -m experiments roles demo-en-fr demo-en-fr` writes the record
of roles, `record heads` that of removals; lesson 09 reads both.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lessonkit.analysis.head_roles import name_heads, role_scores
from transformer.data import embedded as reader
from transformer.models.translator import Translator
from transformer.support import machine
from transformer.support.errors import UserError
from transformer.support.files import write_json
from transformer.support.provenance import provenance

CHOSEN_ON, SCORED_ON = "validation", "test"  # splits of the embedded corpus


class HeadRow(NamedTuple):
    """A head's role and worth.

    Attributes:
        head: Its name, "encoder 2.3".
        role: The one it plays best.
        score: The share of cases in which it does, 0 to 1.
        even: The share that looking evenly would get right.
        cases: How many cases.
        named: Whether it plays it more often than not.
        cost: Points of BLEU (beam 4) lost with the head's mean in its place.
        low, high: The 95% interval of the cost, of a paired bootstrap.
    """

    head: str
    role: str
    score: float
    even: float
    cases: int
    named: bool
    cost: float
    low: float
    high: float


def named_roles(translator: Translator) -> dict[str, Any]:
    """Name every head of a model on the validation sentences, and score it on the test's.

    Args:
        translator: Between two languages of the embedded corpus.

    Returns:
        For each head "role", "score", "even", "cases" and "named", as in `NamedHead`.
    """
    named = name_heads(
        *(role_scores(translator, reader.sentences(split)) for split in (CHOSEN_ON, SCORED_ON))
    )
    return {
        str(each.head): {"role": each.role, "score": round(each.score, 3)}
        | {"even": round(each.even, 3), "cases": each.cases, "named": each.named}
        for each in named
    }


def record_roles(model: str, file: Path) -> None:
    """Name a model's heads, and write their roles.

    Args:
        model: A model folder, or the name of a shipped one.
        file: JSON to write.
    """
    translator = Translator.load(model, machine.pick_device())
    roles = named_roles(translator)
    origin = provenance(translator.device) | {"model": model}
    write_json(file, origin | {"chosen_on": CHOSEN_ON, "scored_on": SCORED_ON, "figures": roles})


def head_table(roles: Mapping[str, Any], removals: Mapping[str, Any]) -> list[HeadRow]:
    """Put the records of roles and of removals side by side.

    Args:
        roles: As `record roles` writes it.
        removals: As `record heads` writes it, of the same model.

    Raises:
        UserError: the records are of different models.
    """
    if roles["model"] != removals["model"]:
        raise UserError(
            f"roles of {roles['model']} beside removals of {removals['model']}: record one model"
        )
    whole, without = removals["figures"]["whole"]["beam"], removals["figures"]["mean"]["heads"]
    return [
        HeadRow(
            head=name,
            **each,
            cost=round(whole - without[name]["beam"], 2),
            low=-without[name]["high"],
            high=-without[name]["low"],
        )
        for name, each in roles["figures"].items()
    ]
