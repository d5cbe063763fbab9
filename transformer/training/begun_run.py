"""What a run was begun with (data.json): written by a new run, held against a resumed one."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from transformer.data.corpora import CORPUS_SUMS_KEY, changed_corpus_files, corpus_sums
from transformer.data.examples import ExampleArrays
from transformer.models import folder
from transformer.support.errors import require
from transformer.support.files import write_json
from transformer.support.formats import FORMAT_KEY, FORMAT_VERSION
from transformer.support.provenance import code_sha256, commit_or_version, hardware_name
from transformer.training import processes
from transformer.training.preparation import PreparedRun, read_settings_of_begun_run

EXAMPLES_KEYS = ("training", "validation")  # the check sums of what is learned from and validated
ARRAYS_PREFIX = "arrays:"  # of a check sum
# The order of a run's sums, and so their last bits, depends on these.
MACHINE_KEYS = ("hardware", "torch", "processes")


def begin_or_check_run(
    prepared: PreparedRun,
    out: Path,
    resume: bool,
    start_record: dict[str, Any],
    on_begin: Callable[[str], None],
) -> bool:
    """Write what a new run is, or check that a resumed one is the same.

    Returns:
        Whether the run has ended already, so that no step is left to do.
    """
    # Another run may have begun here since the run was prepared.
    first_settings = read_settings_of_begun_run(out, resume)
    settings = _settings_to_record(prepared, first_settings)
    if not resume:
        write_json(out / folder.DATA, {FORMAT_KEY: FORMAT_VERSION} | settings | start_record)
        folder.write_description(out, prepared.description)
        return False
    recipe = prepared.description.recipe
    changed_files = ", ".join(changed_corpus_files(recipe.data.corpus, first_settings))
    _require_same_examples(first_settings, settings, out, changed_files)
    if changed_files:
        on_begin(f"the corpus is another version now ({changed_files}), with equal examples")
    _report_other_code_and_machine(first_settings, settings, on_begin)
    same_steps = folder.read_recipe(out).training.steps == recipe.training.steps
    return same_steps and (out / folder.RUN).is_file()


def _settings_to_record(prepared: PreparedRun, first_settings: dict[str, Any]) -> dict[str, Any]:
    """Return what data.json says of a run that is begun now, or was begun with `first_settings`."""
    examples = prepared.batches.examples, prepared.validation_batches.examples
    sums = {
        split: _examples_sum(some, str(first_settings.get(split, ARRAYS_PREFIX)))
        for split, some in zip(EXAMPLES_KEYS, examples, strict=True)
    }
    return sums | {
        CORPUS_SUMS_KEY: corpus_sums(prepared.description.recipe.data.corpus),
        "hardware": hardware_name(prepared.picked.device),
        "torch": torch.__version__,
        "processes": processes.world_size(),
        "commit": commit_or_version(),
        "code_sha256": code_sha256(),
        "precision": prepared.picked.precision,
        "pairs": prepared.pair_counts(),
    }


def _require_same_examples(
    first_settings: dict[str, Any], settings: dict[str, Any], out: Path, changed_files: str
) -> None:
    """Raise a UserError if a resumed run has other examples than it was begun with."""
    files = f"; another version of the corpus, {changed_files}" if changed_files else ""
    for split in EXAMPLES_KEYS:
        require(
            settings[split] == first_settings.get(split),
            f"the {split} examples are not those that the run was begun with "
            f"({out / folder.DATA}{files}): put the corpus and the tokenizers back as they were, "
            "or begin in another folder",
        )


def _report_other_code_and_machine(
    first_settings: dict[str, Any], settings: dict[str, Any], on_begin: Callable[[str], None]
) -> None:
    """Report what may make the weights of a resumed run differ from an uninterrupted one's."""
    if settings["code_sha256"] != first_settings.get("code_sha256"):
        first_code = first_settings.get("commit", "an earlier version")
        on_begin(
            f"begun with the code of {first_code}, resumed with that of {settings['commit']}: the "
            "weights may differ from an uninterrupted run's"
        )
    for name in MACHINE_KEYS:
        if settings[name] != first_settings.get(name):
            dropout = ", and dropout draws other numbers" if name == "processes" else ""
            on_begin(
                f"begun with {name} {first_settings.get(name)}, resumed with {settings[name]}: the "
                f"weights will differ from an uninterrupted run's in their last bits{dropout}"
            )


def _examples_sum(examples: ExampleArrays, first_sum: str) -> str:
    """Return a check sum of each id of some examples, and of their order, as the first one's is.

    Earlier versions took that of each example's text, which takes ten times as long.
    """
    if first_sum.startswith(ARRAYS_PREFIX):
        return ARRAYS_PREFIX + examples.checksum()
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr(tuple(example)).encode())
    return digest.hexdigest()
