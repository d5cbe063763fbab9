"""What a law is, and how a function becomes one (not in the paper)."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, TypeVar

from attention_laws.report import Finding

T = TypeVar("T")
CheckFunction = Callable[[Any], Finding]


@dataclass(frozen=True)
class Law:
    """A statement that holds for every sound Transformer, or for the pipeline around one."""

    name: str
    says: str  # the law in one sentence
    means: str  # what it usually means when it is broken
    look: str  # where to look then
    check: CheckFunction  # tries it on a `Subject`, or on a `Pipeline`
    needs: tuple[str, ...] = ()  # attributes of the adapter or pipeline that it cannot do without
    compares: bool = True  # whether it compares outputs, and so needs deterministic ones
    minute: bool = False  # whether it trains or compiles, and so takes up to a minute
    on_pipeline: bool = False  # whether it is tried on a `Pipeline` rather than on a model
    reads_source: bool = False  # whether it says nothing of a decoder-only model
    of_decoder_only: bool = False  # whether it says nothing of any other


def law(
    *needs: str,
    compares: bool = True,
    minute: bool = False,
    reads_source: bool = False,
    of_decoder_only: bool = False,
) -> Callable[[CheckFunction], Law]:
    """Turn a check of a `Subject` into a law of the same name.

    The docstring of the check states the law, and has the paragraphs `Means:` and `Look:`.
    """

    def make_law(check: CheckFunction) -> Law:
        made = _law_from_check(check, needs, compares, minute, on_pipeline=False)
        return replace(made, reads_source=reads_source, of_decoder_only=of_decoder_only)

    return make_law


def pipeline_law(*needs: str) -> Callable[[CheckFunction], Law]:
    """Turn a check of a `Pipeline` into a law of the same name; see `law`."""

    def make_law(check: CheckFunction) -> Law:
        return _law_from_check(check, needs, compares=False, minute=False, on_pipeline=True)

    return make_law


def _law_from_check(
    check: CheckFunction, needs: tuple[str, ...], compares: bool, minute: bool, on_pipeline: bool
) -> Law:
    says, _, rest = (inspect.getdoc(check) or "").partition("\n\nMeans: ")
    means, _, look = rest.partition("\nHow: ")[0].partition("\nLook: ")
    return Law(
        name=check.__name__,
        says=says,
        means=" ".join(means.split()),
        look=" ".join(look.split()),
        check=check,
        needs=needs,
        compares=compares,
        minute=minute,
        on_pipeline=on_pipeline,
    )


def laws_in_modules(*modules: ModuleType) -> tuple[Law, ...]:
    """Return the laws that modules define, in the order in which they stand there."""
    return tuple(
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, Law) and value.check.__module__ == module.__name__
    )


def assert_not_none(value: T | None) -> T:
    """Return what a law has asked for by its `needs`, which is therefore not None."""
    assert value is not None
    return value
