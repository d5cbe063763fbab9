"""Make each law a test of its own, in anybody's pytest (not in the paper).

A test file says `test_laws = attention_laws.cases(make)`, or the configuration has a line
`attention_laws = my_model:make`; `attention_laws_baseline` names a file of accepted breaks, and
`attention_laws_strict = true` lets warnings fail. Only here is pytest imported.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from attention_laws.errors import UserError, describe_error
from attention_laws.factory import (
    adapter_or_pipeline,
    call_factory,
    first_on_path,
    parse_target,
)
from attention_laws.law import Law
from attention_laws.laws import LAWS
from attention_laws.report import CORE, Line, Report, Verdict, read_baseline
from attention_laws.run import Diagnosis


@dataclass
class Cases:
    """A factory, and the diagnosis of what it makes, in which each law is tried when asked for."""

    make: Callable[[], Any]
    strict: bool
    minute: bool = False
    reasons: Mapping[str, str] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None
    stopped: str = ""

    def check(self, law: Law) -> None:
        """Try a law: fail if it is broken, skip if it does not apply."""
        line = Report((self._try(law),)).with_baseline(self.reasons).lines[0]
        if line.verdict == Verdict.BROKEN or (line.verdict == Verdict.WARNED and self.strict):
            pytest.fail(line.explanation(), pytrace=False)
        if line.verdict == Verdict.NOT_TRIED and line.law in CORE and Report((line,)).unjudged:
            pytest.fail(f"it could not be judged: {line.seen}", pytrace=False)
        if line.verdict in (Verdict.NOT_TRIED, Verdict.ACCEPTED):
            pytest.skip(f"{line.verdict}: {line.seen}")

    def _try(self, law: Law) -> Line:
        if self.diagnosis is None and not self.stopped:
            try:
                self.diagnosis = Diagnosis(adapter_or_pipeline(self.make(), {}), minute=self.minute)
                self.diagnosis.try_prerequisites()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # Somebody's model may raise anything.
                self.stopped = describe_error(error)
        if self.diagnosis is None:
            pytest.fail(f"it could not be judged: {self.stopped}", pytrace=False)
        for line in self.diagnosis.lines:
            if line.law == law.name:
                return line
        return self.diagnosis.try_law(law)


def cases(
    make: Callable[[], Any],
    *,
    laws: Iterable[Law] = LAWS,
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    strict: bool = False,
    minute: bool = False,
    baseline: str | Path | None = None,
) -> Callable[..., None]:
    """Return a test of each law: write `test_laws = attention_laws.cases(make)` in a test file.

    Args:
        make: Returns a module, an Adapter or a Pipeline (then `laws` are `PIPELINE_LAWS`).
        laws: The laws to choose from.
        only: Names of the laws to try; all if there are none.
        skip: Names of laws to leave out.
        strict: Whether warnings fail.
        minute: Whether to try the laws that train, too.
        baseline: File of accepted breaks, `law: reason` a line.
    """
    reasons = read_baseline(Path(baseline)) if baseline else {}
    tested = Cases(make, strict=strict, minute=minute, reasons=reasons)
    only, skip = set(only), set(skip)
    chosen = [law for law in laws if (not only or law.name in only) and law.name not in skip]

    @pytest.mark.parametrize("law", chosen, ids=[law.name for law in chosen])
    def test_laws(law: Law) -> None:
        tested.check(law)

    return test_laws


class _LawItem(pytest.Item):
    """A law tried on the factory that the configuration names."""

    def __init__(self, *, cases: Cases, law: Law, **rest: Any) -> None:
        super().__init__(name=law.name, nodeid=f"attention_laws::{law.name}", **rest)
        self.cases, self.law = cases, law

    def runtest(self) -> None:
        """Try the law."""
        self.cases.check(self.law)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where pytest reports the test, and under which name."""
        return self.path, None, self.name


def _configured_items(session: pytest.Session) -> list[_LawItem]:
    """Return a test for each law on the factory that the configuration names."""
    config = session.config
    folder, module, name = parse_target(config.getini("attention_laws"))
    baseline = config.getini("attention_laws_baseline")
    reasons = read_baseline(config.rootpath / baseline) if baseline else {}

    def make() -> Any:
        with first_on_path(config.rootpath), first_on_path(folder):
            return call_factory(module, name)

    cases = Cases(make, strict=config.getini("attention_laws_strict"), reasons=reasons)
    return [_LawItem.from_parent(session, cases=cases, law=law) for law in LAWS]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the lines of the configuration."""
    parser.addini("attention_laws", "MODULE:NAME of a factory whose model is to obey the laws")
    parser.addini("attention_laws_baseline", "file of accepted breaks, `law: reason` a line")
    parser.addini("attention_laws_strict", "let warnings fail", type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the laws of the factory that is configured, unless test files are named."""
    everything = config.args_source != pytest.Config.ArgsSource.ARGS
    if config.getini("attention_laws") and everything:
        try:
            items += _configured_items(session)
        except UserError as error:
            raise pytest.UsageError(str(error)) from error
