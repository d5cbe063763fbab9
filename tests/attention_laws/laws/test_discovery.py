"""A law is one file: it is found, ordered and tried without an entry anywhere else."""

import json
import os
import shutil
from pathlib import Path

import pytest

from attention_laws import law as law_module
from attention_laws.laws import MODEL_LAWS, PIPELINE_LAWS
from tests.helpers import ROOT, python

NEW_LAW = '''
from attention_laws.law import law
from attention_laws.laws.masking import decoder_is_causal
from attention_laws.report import Finding, broken_finding, kept_finding
from attention_laws.subject import Subject


@law("module")
def model_has_parameters(subject: Subject) -> Finding:
    """A model has parameters.

    Means: there is nothing to train
    Look: at the model
    """
    count = sum(weight.numel() for weight in subject.module.parameters())
    return kept_finding(f"{count} parameters") if count else broken_finding("no parameter")
'''


@pytest.mark.slow
def test_a_law_in_a_file_of_its_own_is_tried(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "attention_laws", tmp_path / "attention_laws")
    (tmp_path / "attention_laws" / "laws" / "mine.py").write_text(NEW_LAW, encoding="utf-8")
    shutil.copy(ROOT / "experiments" / "laws" / "sound_model.py", tmp_path / "sound.py")
    names = "model_has_parameters,decoder_is_causal"
    command = ("-m", "attention_laws", "sound:make_model", "--only", names, "--json")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    report = json.loads(python(*command, cwd=tmp_path, env=environment).stdout)
    # After the others, since its file names no LAW_MODULE_SORT_KEY; the law that it imports is
    # tried once.
    laws = [line["law"] for line in report["lines"]]
    assert laws == ["decoder_is_causal", "model_has_parameters"]
    assert {line["verdict"] for line in report["lines"]} == {"kept"}


def test_laws_that_train_come_after_the_others() -> None:
    trains = [law.minute for law in MODEL_LAWS]
    assert trains == sorted(trains)


def test_a_docstring_is_the_law() -> None:
    @law_module.pipeline_law("score")
    def nothing_is_wrong(pipeline: object) -> None:
        """Nothing is wrong.

        Means: something is
        wrong
        Look: there
        How: By looking.
        """

    assert nothing_is_wrong.name == "nothing_is_wrong"
    assert nothing_is_wrong.says == "Nothing is wrong."
    assert nothing_is_wrong.means == "something is wrong"
    assert nothing_is_wrong.look == "there"
    assert nothing_is_wrong.on_pipeline
    assert not any(law.on_pipeline for law in MODEL_LAWS)
    assert all(law.on_pipeline for law in PIPELINE_LAWS)
