"""Each law a test of its own, in anybody's pytest (not in the paper).

A test file says `test_laws = attention_laws.cases(make)`, or the configuration has a line
`attention_laws = my_model:make`; `attention_laws_baseline` names a file of accepted breaks, and
`attention_laws_strict = true` lets warnings fail. Only here is pytest imported.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from attention_laws.errors import UserError, told
from attention_laws.law import Law
from attention_laws.laws import LAWS
from attention_laws.report import CORE, Line, Report, Verdict, read_baseline
from attention_laws.run import Trial
from attention_laws.target import made, on_path, split, subject_of


@dataclass
class Cases:
    """What one factory gives, and the laws that are tried on it, each when it is asked for."""

    make: Callable[[], Any]
    strict: bool
    minute: bool
    reasons: Mapping[str, str]
    trial: Trial | None = None
    stopped: str = ""

    def check(self, law: Law) -> None:
        """Try a law: fail where it is broken, skip where it does not apply."""
        line = Report((self._line(law),)).accepting(self.reasons).lines[0]
        if line.verdict == Verdict.BROKEN or (line.verdict == Verdict.WARNED and self.strict):
            pytest.fail(line.told(), pytrace=False)
        if line.verdict == Verdict.NOT_TRIED and line.law in CORE and Report((line,)).unjudged:
            pytest.fail(f"it could not be judged: {line.seen}", pytrace=False)
        if line.verdict in (Verdict.NOT_TRIED, Verdict.ACCEPTED):
            pytest.skip(f"{line.verdict}: {line.seen}")

    def _line(self, law: Law) -> Line:
        if self.trial is None and not self.stopped:
            try:
                self.trial = Trial(subject_of(self.make(), {}), minute=self.minute)
                self.trial.try_gates()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # whatever somebody's model raises
                self.stopped = told(error)
        if self.trial is None:
            pytest.fail(f"it could not be judged: {self.stopped}", pytrace=False)
        done = [line for line in self.trial.lines if line.law == law.name]
        return done[0] if done else self.trial.line(law)


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
    """Make a test for each law, as `test_laws = attention_laws.cases(make)` in a test file.

    Args:
        make: Gives a module, an Adapter or a Pipeline (then `laws` are `PIPELINE_LAWS`).
        laws: Which.
        only: Names of the laws to try; all where there are none.
        skip: Names of laws to leave out.
        strict: Whether warnings fail.
        minute: Whether to try the laws that train, too.
        baseline: File of accepted breaks, `law: reason` a line.
    """
    given = Cases(make, strict, minute, read_baseline(Path(baseline)) if baseline else {})
    only, skip = set(only), set(skip)
    chosen = [law for law in laws if (not only or law.name in only) and law.name not in skip]

    @pytest.mark.parametrize("law", chosen, ids=[law.name for law in chosen])
    def test_laws(law: Law) -> None:
        given.check(law)

    return test_laws


class _LawItem(pytest.Item):
    """A law of the factory that the configuration names."""

    def __init__(self, *, cases: Cases, law: Law, **rest: Any) -> None:
        super().__init__(name=law.name, nodeid=f"attention_laws::{law.name}", **rest)
        self.cases, self.law = cases, law

    def runtest(self) -> None:
        """Try it."""
        self.cases.check(self.law)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Say what it is called."""
        return self.path, None, self.name


def _configured(session: pytest.Session) -> list[_LawItem]:
    """Give a test for each law of the factory that the configuration names."""
    config = session.config
    folder, module, name = split(config.getini("attention_laws"))
    baseline = config.getini("attention_laws_baseline")
    reasons = read_baseline(config.rootpath / baseline) if baseline else {}

    def make() -> Any:
        with on_path(config.rootpath), on_path(folder):
            return made(module, name)

    given = Cases(make, config.getini("attention_laws_strict"), False, reasons)
    return [_LawItem.from_parent(session, cases=given, law=law) for law in LAWS]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Know the lines of the configuration."""
    parser.addini("attention_laws", "MODULE:NAME of a factory whose model is to obey the laws")
    parser.addini("attention_laws_baseline", "file of accepted breaks, `law: reason` a line")
    parser.addini("attention_laws_strict", "let warnings fail", type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the laws of the factory that is named, where no files are."""
    everything = config.args_source != pytest.Config.ArgsSource.ARGS
    if config.getini("attention_laws") and everything:
        try:
            items += _configured(session)
        except UserError as error:
            raise pytest.UsageError(str(error)) from error
