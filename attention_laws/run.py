"""Try every law on a model, or on the pipeline around one (not in the paper)."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from attention_laws.adapter import Adapter, Pipeline
from attention_laws.argument_kinds import check_argument_kinds, check_kind
from attention_laws.bare_module import adapter_from_module
from attention_laws.errors import NotObservedError, UserError, describe_error
from attention_laws.law import Law
from attention_laws.laws import MODEL_LAWS, PIPELINE_LAWS
from attention_laws.model_state import force_eval_mode, model_state_restored_afterwards
from attention_laws.module_at_fault import place_of_forward
from attention_laws.report import (
    DECODER_ONLY_REASON,
    NO_SOURCE_REASON,
    Finding,
    LawResult,
    Report,
    Verdict,
    not_tried_finding,
)
from attention_laws.subject import Subject

# Laws without which outputs cannot be compared, and how such outputs are described.
OUTPUT_FAULTS_BY_PREREQUISITE_LAW = {
    "logits_are_finite": "are not finite",
    "evaluation_is_deterministic": "are not deterministic",
}


@check_argument_kinds
def _laws_as_list(laws: Iterable[Law]) -> list[Law]:
    """Return laws as a list; a UserError for anything else."""
    chosen = list(laws)
    check_kind("laws", chosen, list[Law])
    return chosen


def diagnose(
    model: Adapter | nn.Module,
    *,
    minute: bool = False,
    laws: Iterable[Law] = MODEL_LAWS,
) -> Report:
    """Try the laws that an encoder-decoder must obey, and report what was found about each.

    The model stays as it was: weights, mode, gradients, optimizer and random state are restored.
    Whatever it raises is reported, `SystemExit` too; only Ctrl-C goes through.

    Args:
        model: An adapter, or a module that returns logits; the rest is found by trying.
        minute: Try the laws that train or compile, too.
        laws: The laws to try; by default those of `attention_laws.laws`.

    Returns:
        The report; if the model cannot be run at all, one that says why.
    """
    chosen_laws = _laws_as_list(laws)
    check_kind("minute", minute, bool)
    try:
        check_kind("model", model, Adapter | nn.Module)
        adapter = model if isinstance(model, Adapter) else adapter_from_module(model)
        diagnosis = Diagnosis(adapter, minute=minute)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # Somebody's model may raise anything.
        return Report((), stopped=describe_error(error), mistake=isinstance(error, UserError))
    for law in chosen_laws:
        diagnosis.try_law(law)
    return diagnosis.report()


def diagnose_pipeline(pipeline: Pipeline, *, laws: Iterable[Law] = PIPELINE_LAWS) -> Report:
    """Try the laws that data, tokenizers and scores must obey; see `diagnose`."""
    check_kind("pipeline", pipeline, Pipeline)
    chosen_laws = _laws_as_list(laws)
    diagnosis = Diagnosis(pipeline)
    for law in chosen_laws:
        diagnosis.try_law(law)
    return diagnosis.report()


class Diagnosis:
    """A model or a pipeline on which laws are tried one by one; see `diagnose`."""

    # Exceptions that are not caught.
    interrupts: tuple[type[BaseException], ...] = (KeyboardInterrupt,)

    def __init__(self, tested: Adapter | Pipeline, *, minute: bool = False) -> None:
        self.tested, self.minute = tested, minute
        self.laws = MODEL_LAWS if isinstance(tested, Adapter) else PIPELINE_LAWS
        self.lines: list[LawResult] = []
        self.subject: Subject | None = None
        if isinstance(tested, Adapter):
            with _temporarily_in_eval_mode(tested):
                self.subject = Subject(tested)

    def try_law(self, law: Law) -> LawResult:
        """Try a law unless something that it needs is missing, and record the finding."""
        start, lost = time.perf_counter(), False
        missing = [name for name in law.needs if getattr(self.tested, name) in (None, (), [])]
        decoder_only = getattr(self.tested, "decoder_only", False)
        if law.reads_source and decoder_only:
            finding = not_tried_finding(NO_SOURCE_REASON)
        elif law.of_decoder_only and not decoder_only:
            finding = not_tried_finding(DECODER_ONLY_REASON)
        elif missing:
            kind = type(self.tested).__name__.lower()
            finding = not_tried_finding(f"the {kind} has no {' and no '.join(missing)}")
        else:
            try:
                finding = self._check_law(law)
            except NotObservedError as reason:
                finding = not_tried_finding(str(reason))
            except self.interrupts:
                raise
            except BaseException as error:  # Somebody's model or pipeline may raise anything.
                finding, lost = not_tried_finding(f"it raised {describe_error(error)}"), True
        line = LawResult(
            law=law.name,
            says=law.says,
            verdict=finding.verdict,
            seen=finding.seen_with_example(has_source=not decoder_only),
            means=law.means,
            look=law.look,
            seconds=time.perf_counter() - start,
            where=finding.where,
            lost=lost,
        )
        self.lines.append(line)
        return line

    def try_prerequisite_laws(self) -> None:
        """Try the laws without which others say nothing."""
        for law in self.laws:
            if law.name in OUTPUT_FAULTS_BY_PREREQUISITE_LAW:
                self.try_law(law)

    def report(self) -> Report:
        """Return what was found about all laws that were tried."""
        if self.subject is None:
            return Report(tuple(self.lines))
        adapter = self.subject.adapter
        return Report(
            tuple(self.lines),
            adapter.assumptions,
            self.subject.tolerance,
            place=place_of_forward(adapter.forward if adapter.module is None else adapter.module),
        )

    def _check_law(self, law: Law) -> Finding:
        if self.subject is None:
            return law.check(self.tested)
        if law.minute and not self.minute:
            return not_tried_finding(
                "it takes up to a minute: ask for it with minute=True (--minute)"
            )
        if law.compares:
            for line in self.lines:
                if line.law in OUTPUT_FAULTS_BY_PREREQUISITE_LAW and line.verdict != Verdict.KEPT:
                    outputs = f"outputs that {OUTPUT_FAULTS_BY_PREREQUISITE_LAW[line.law]}"
                    return not_tried_finding(f"{outputs} cannot be compared: see `{line.law}`")
        with _temporarily_in_eval_mode(self.subject.adapter):
            torch.manual_seed(0)
            self.subject.generator.manual_seed(0)
            return law.check(self.subject)


@contextmanager
def _temporarily_in_eval_mode(adapter: Adapter) -> Iterator[None]:
    """Put a model into evaluation mode with gradients in the block, and restore it afterwards."""
    with (
        model_state_restored_afterwards(adapter.module, adapter.optimizer, adapter.stateful),
        torch.enable_grad(),
    ):
        if adapter.module is not None:
            force_eval_mode(adapter.module)
        yield
