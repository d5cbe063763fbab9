"""Make each law a test of its own, in anybody's pytest (not in the paper).

A test file says `test_laws = attention_laws.make_law_tests(make)`, or the configuration has a line
`attention_laws = my_model:make`; `attention_laws_baseline` names a file of accepted breaks, and
`attention_laws_strict = true` lets warnings fail. Only here is pytest imported.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from attention_laws.argument_kinds import check_argument_kinds
from attention_laws.errors import UserError, describe_error
from attention_laws.factory import (
    import_and_call_factory,
    parse_factory_target,
    prepended_to_sys_path,
    to_adapter_or_pipeline,
)
from attention_laws.law import Law
from attention_laws.laws import MODEL_LAWS
from attention_laws.report import (
    LAWS_NEEDED_TO_JUDGE_MODEL,
    LawResult,
    Report,
    Verdict,
    read_baseline,
)
from attention_laws.run import Diagnosis


@dataclass
class LawTester:
    """A factory, and the diagnosis of what it makes, in which each law is tried when asked for."""

    make: Callable[[], Any]
    strict: bool
    minute: bool = False
    reasons: Mapping[str, str] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None
    stopped: str = ""

    def check_law(self, law: Law) -> None:
        """Try a law: fail if it is broken, skip if it does not apply."""
        line = Report((self._try_law_or_reuse_result(law),)).with_baseline(self.reasons).lines[0]
        if line.verdict == Verdict.BROKEN or (line.verdict == Verdict.WARNED and self.strict):
            pytest.fail(line.explanation(), pytrace=False)
        is_needed = line.lost or line.law in LAWS_NEEDED_TO_JUDGE_MODEL
        if is_needed and Report((line,)).untried_laws_needed_to_judge:
            pytest.fail(f"it could not be judged: {line.seen}", pytrace=False)
        if line.verdict in (Verdict.NOT_TRIED, Verdict.ACCEPTED):
            pytest.skip(f"{line.verdict}: {line.seen}")

    def _try_law_or_reuse_result(self, law: Law) -> LawResult:
        if self.diagnosis is None and not self.stopped:
            try:
                self.diagnosis = Diagnosis(
                    to_adapter_or_pipeline(self.make(), {}), minute=self.minute
                )
                self.diagnosis.try_prerequisite_laws()
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


@check_argument_kinds
def make_law_tests(
    make: Callable[[], Any],
    *,
    laws: Iterable[Law] = MODEL_LAWS,
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    strict: bool = False,
    minute: bool = False,
    baseline: str | Path | None = None,
) -> Callable[..., None]:
    """Return a test that pytest collects once for each law, for a test file to name test_....

    Args:
        make: Returns a module, an Adapter or a Pipeline (then `laws` are `PIPELINE_LAWS`).
        laws: The laws to choose from.
        only: Names of the laws to try; all if there are none.
        skip: Names of laws to leave out.
        strict: Whether warnings fail.
        minute: Whether to try the laws that train or compile, too.
        baseline: File of accepted breaks, `law: reason` a line.
    """
    reasons = read_baseline(Path(baseline)) if baseline else {}
    tester = LawTester(make, strict=strict, minute=minute, reasons=reasons)
    only, skip = set(only), set(skip)
    chosen = [law for law in laws if (not only or law.name in only) and law.name not in skip]

    @pytest.mark.parametrize("law", chosen, ids=[law.name for law in chosen])
    def test_laws(law: Law) -> None:
        tester.check_law(law)

    return test_laws


class _LawItem(pytest.Item):
    """A law tried on the factory that the configuration names."""

    def __init__(self, *, tester: LawTester, law: Law, **rest: Any) -> None:
        super().__init__(name=law.name, nodeid=f"attention_laws::{law.name}", **rest)
        self.tester, self.law = tester, law

    def runtest(self) -> None:
        """Try the law."""
        self.tester.check_law(self.law)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where pytest reports the test, and under which name."""
        return self.path, None, self.name


def _make_items_from_configuration(session: pytest.Session) -> list[_LawItem]:
    """Return a test for each law on the factory that the configuration names."""
    config = session.config
    folder, module, name = parse_factory_target(config.getini("attention_laws"))
    baseline = config.getini("attention_laws_baseline")
    reasons = read_baseline(config.rootpath / baseline) if baseline else {}

    def make() -> Any:
        with prepended_to_sys_path(config.rootpath), prepended_to_sys_path(folder):
            return import_and_call_factory(module, name)

    tester = LawTester(make, strict=config.getini("attention_laws_strict"), reasons=reasons)
    return [_LawItem.from_parent(session, tester=tester, law=law) for law in MODEL_LAWS]


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
            items += _make_items_from_configuration(session)
        except UserError as error:
            raise pytest.UsageError(str(error)) from error
