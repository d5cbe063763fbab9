"""What an annotation describes passes; what it does not is refused by name."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np
import pytest
import torch

from transformer.data.batches import Example
from transformer.support.checks import check_fields
from transformer.support.errors import UserError
from transformer.support.signatures import (
    check_argument_types,
    check_type,
    describe_annotation,
)
from transformer.training.devices import Precision


class Runner(Protocol):
    def run(self) -> None: ...


class NamedRunner(Runner, Protocol):
    name: str


class Runs:
    def run(self) -> None: ...


class Dataset:
    """A list of words that derives from no list."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> str:
        return ["a", "b"][index]


TAKEN: list[tuple[Any, Any]] = [
    (int, 3),
    (int, np.int64(3)),
    (float, 3),
    (float, -math.inf),
    (float, np.float32(0.5)),
    (bool, False),
    (str | None, None),
    (str | Path, Path("a")),
    (Any, object()),
    (Callable[[int], str], len),
    (Runner, Runs()),
    (NamedRunner, SimpleNamespace(run=len, name="a")),
    (Precision, Precision.BF16),
    (Sequence[str], Dataset()),
    (Iterable[str], Dataset()),
    (Sequence[str], deque(["a"])),
    (Sequence[Sequence[int]], np.ones((2, 3), dtype=int)),
    (np.ndarray, torch.ones(2, 3)),
    (Iterable[str], {"a": 1}),
    (Sequence[str], ("a", "b")),
    (Sequence[str], []),
    (Sequence[float], np.array([1.0, 2.0])),
    (Sequence[tuple[str, str]], [["a", "b"]]),
    (Sequence[Example], [([1], [2, 3])]),
    (Mapping[str, Sequence[int]], {"a": [1, 2]}),
    (Iterable[str], iter([1])),  # Reading it would use it up.
    (tuple[int, ...], (1, 2, 3)),
    (frozenset[tuple[int, int]], frozenset({(0, 1)})),
]
REFUSED: list[tuple[Any, Any]] = [
    (int, True),
    (int, 3.0),
    (int, "3"),
    (float, math.nan),
    (float, 1j),
    (bool, 1),
    (str, b"a"),
    (Path, "a"),
    (str | None, 3),
    (Callable[[int], str], "len"),
    (Runner, object()),
    (NamedRunner, Runs()),
    (NamedRunner, SimpleNamespace(name="a")),
    (Precision, "bf8"),
    (Sequence[int], Dataset()),
    (Sequence[str], {"a": 1}),
    (frozenset[int], [1]),
    (Iterable[int], "1"),
    (Sequence[str], "ab"),
    (Sequence[str], ["a", None]),
    (Sequence[str], {"a"}),
    (Sequence[float], np.ones((2, 2))),
    (np.ndarray, [1.0]),
    (Sequence[tuple[str, str]], [("a", "b", "c")]),
    (Sequence[Example], [([1], [2.5])]),
    (Mapping[str, Sequence[int]], {"a": [1, "2"]}),
    (Mapping[str, Sequence[int]], [("a", [1])]),
    (Iterable[str], [1]),
    (Iterable[float], np.array(1.0)),
    (tuple[int, int], (1,)),
]


def test_what_an_annotation_describes_passes() -> None:
    for annotation, value in TAKEN:
        check_type("it", value, annotation)


@pytest.mark.parametrize(("annotation", "value"), REFUSED)
def test_what_it_does_not_describe_is_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(UserError, match=r"it is .*: give "):
        check_type("it", value, annotation)


def test_annotations_in_words() -> None:
    for annotation, words in (
        (Sequence[str] | None, "a list of texts or none"),
        (tuple[int, float], "a list of whole numbers and numbers"),
        (Sequence[Sequence[str]], "a list of lists of texts"),
        (Precision, "a Precision: float32, tf32, bf16, fp16"),
        (Example, "an Example (src, tgt)"),
        (NamedRunner, "a NamedRunner, which has name and run"),
    ):
        assert describe_annotation(annotation) == words


@check_argument_types
def join(words: Sequence[str], *, times: int = 1, end: str = "") -> str:
    """Join."""
    return " ".join(words) * times + end


def test_a_function_checks_each_argument_however_it_is_given() -> None:
    assert join(["a", "b"], times=2, end=".") == "a ba b."
    assert (join.__name__, join.__doc__) == ("join", "Join.")
    for call, message in (
        (lambda: join("ab"), "words is 'ab': give a list of texts"),
        (lambda: join(words=["a", 3]), "one of words is 3: give a text"),
        (lambda: join([], times=True), "times is True: give a whole number"),
    ):
        with pytest.raises(UserError, match=f"^{message}$"):
            call()
    with pytest.raises(TypeError, match="unexpected keyword argument 'sep'"):
        join([], sep="")  # type: ignore[call-arg]


class Place(NamedTuple):
    layer: int
    head: int


@check_argument_types
def weighted_sum(start: int, *terms: int, **weights: float) -> float:
    return start + sum(terms) + sum(weights.values())


def test_a_function_checks_each_argument_that_it_gathers() -> None:
    assert weighted_sum(2, 3, 5, first=0.5) == 10.5
    with pytest.raises(UserError, match="terms is 'x'"):
        weighted_sum(2, 3, "x")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="first is 'x'"):
        weighted_sum(2, 3, first="x")  # type: ignore[arg-type]


@dataclass(frozen=True)
class Map:
    places: Sequence[Place]

    def __post_init__(self) -> None:
        check_fields(self)


def test_a_dataclass_checks_its_fields_and_those_of_the_records_in_them() -> None:
    Map([Place(1, 2)])
    with pytest.raises(UserError, match=r"^one of places is .*: give a Place \(layer, head\)$"):
        Map([Place(1, "2")])  # type: ignore[arg-type]
