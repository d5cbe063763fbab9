"""Fields of a dataclass: text becomes a value of the type, and what does not fit is refused."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pytest

from transformer.support.checks import check_fields
from transformer.support.errors import UserError


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


@dataclass(frozen=True, kw_only=True)
class Paint:
    colour: Colour = Colour.RED
    coats: int = 2
    litres: float = 1.5
    lid: int | None = None
    dry: bool = True
    name: str = ""
    water: float = 0.25
    cracks: int = 1

    def __post_init__(self) -> None:
        check_fields(self, max_number=1000, fractions=["water"], may_be_zero=["cracks"])


def test_a_field_comes_to_have_its_type() -> None:
    for name, argument, value in (
        ("colour", "green", Colour.GREEN),
        ("coats", "13", 13),
        ("coats", 1000, 1000),
        ("litres", "1e-3", 0.001),
        ("litres", 3, 3.0),
        ("litres", np.float32(0.5), 0.5),
        ("coats", np.int64(5), 5),
        ("lid", "None", None),
        ("lid", "7", 7),
        ("dry", "FALSE", False),
        ("name", "none", "none"),
        ("water", 0, 0.0),
        ("cracks", "0", 0),
    ):
        read = getattr(Paint(**{name: argument}), name)  # type: ignore[arg-type]
        assert (read, type(read)) == (value, type(value)), name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": "grene"}, "unknown colour 'grene': did you mean 'green'?"),
        ({"coats": 2.0}, "coats is 2.0: give a whole number"),
        ({"coats": True}, "coats is True: give a whole number"),
        ({"coats": 0}, "coats is 0: give a whole number from 1 to 1,000"),
        ({"coats": "9" * 5000}, f"coats is '{'9' * 12}...{'9' * 13}': give a whole number"),
        ({"lid": "big"}, "lid is 'big': give a whole number or none"),
        ({"lid": -1}, "lid is -1: give a whole number from 1 to 1,000"),
        ({"dry": 1}, "dry is 1: give true or false"),
        ({"name": 3}, "name is 3: give a text"),
        ({"litres": None}, "litres is None: give a number"),
        ({"litres": 10**400}, f"litres is 1{'0' * 17}...{'0' * 19}: give a number"),
        ({"litres": 0}, "litres is 0: give a number above 0"),
        ({"litres": "nan"}, "litres is nan: give a number"),
        ({"water": 1}, "water is 1: give a number from 0 up to, not including, 1"),
        ({"cracks": -1}, "cracks is -1: give a whole number from 0 to 1,000"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Paint(**changes)
    assert str(caught.value).startswith(message)
