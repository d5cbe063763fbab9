from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest

from transformer.support.errors import UserError
from transformer.support.settings import (
    convert_fields,
    parse,
    require,
    require_count,
    require_fraction,
)


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

    def __post_init__(self) -> None:
        convert_fields(self)


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("13", int, 13),
        ("13.5", int, "13.5"),
        ("1e-3", float, 0.001),
        ("TRUE", bool, True),
        ("1", bool, "1"),
        ("None", int | None, None),
        ("none", str, "none"),
        ("green", Colour, "green"),
        (True, bool, True),
        (1.7, int, 1.7),
        (None, int | None, None),
        ("9" * 5000, int, "9" * 5000),
    ],
)
def test_what_was_typed_is_read_by_the_fields_type(text: str, hint: Any, value: Any) -> None:
    read = parse(text, hint)
    assert (read, type(read)) == (value, type(value))


def test_fields_come_to_have_their_types() -> None:
    paint = Paint(colour="green", litres=3)  # type: ignore[arg-type]
    assert paint.colour is Colour.GREEN
    assert (paint.litres, type(paint.litres)) == (3.0, float)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": "grene"}, "unknown colour 'grene': did you mean 'green'?"),
        ({"coats": 2.0}, "coats is 2.0: give a whole number"),
        ({"lid": "big"}, "lid is 'big': give a whole number or none"),
        ({"dry": 1}, "dry is 1: give true or false"),
        ({"litres": None}, "litres is None: give a number"),
        ({"litres": 10**400}, f"litres is 1{'0' * 17}...{'0' * 19}: give a number"),
        ({"coats": "9" * 5000}, f"coats is '{'9' * 12}...{'9' * 13}': give a whole number"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Paint(**changes)
    assert str(caught.value).startswith(message)


def test_what_is_required() -> None:
    require(True, "unseen")
    require_count(Paint(coats=1), "coats")
    require_fraction(Paint(litres=0), "litres")
    with pytest.raises(UserError, match="no paint"):
        require(False, "no paint")
    with pytest.raises(UserError, match="coats is 0: give 1 or more"):
        require_count(Paint(coats=0), "coats")
    with pytest.raises(UserError, match="coats is 8: give 7 or less"):
        require_count(Paint(coats=8), "coats", most=7)
    with pytest.raises(UserError, match="coats is 1000000001: give 1,000,000,000 or less"):
        require_count(Paint(coats=10**9 + 1), "coats")
    require_count(Paint(lid=None), "lid")
    with pytest.raises(UserError, match=r"litres is 1\.0: give a number from 0 up to"):
        require_fraction(Paint(litres=1), "litres")
