"""The record of mutants and sound variants: made on processes, taken up again, and shown."""

from pathlib import Path
from typing import Any

import pytest

from experiments.laws import record, tables
from experiments.laws.equivalence import (
    behaviour_fingerprint,
    has_fingerprint,
    weight_change_undoing_mutation,
)
from experiments.laws.sound_models import SOUND_MODELS, run_as_module
from transformer.support.errors import UserError
from transformer.support.files import read_json


def row(
    mutant: str, broken: str = "", warned: tuple[str, ...] = (), lost: tuple[str, ...] = ()
) -> Any:
    return {"mutant": mutant, "broken": broken, "warned": warned, "lost": lost, "alone": broken}


def test_the_tables_count_what_the_record_holds_and_name_the_misses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    design = tables.Miss("scale 84: `1e-05` -> ", "design", "another epsilon", "T5 in transformers")
    monkeypatch.setattr(tables, "MISSES_BY_MODEL", {"functional": (design,)})
    rows = [row(f"shift {n}: `0` -> `1`", "decoder_is_causal") for n in range(17)]
    rows += [row("scale 84: `1e-05` -> `2e-05`", warned=("a_law",)), row("new", lost=("a_law",))]
    figures = {"tried": 19, "broken": 17, "alone": 17, "equivalent": [{}] * 3, "mutants": rows}
    held = {
        "provenance": {"date": "2026-11-29"},
        "functional": {"model": figures},
        "variants": {"runs": 80, "alarms": {}},
    }
    assert "| 19 | 17 (89%) | 1 | 1 | 17 | 3 |" in tables.mutants_table(held)
    summary = tables.summary_sentences(held)
    assert "all that were drawn | 17 of 19 | 89.5%" in summary
    # One of the two misses is a design, and the other, which is not explained, counts as a fault.
    assert "faults | 17 of 18 | 94.4%" in summary
    assert "warned of, of all that were drawn | 18 of 19" in summary
    missed = tables.missed_mutants_table(held).splitlines()[2:]
    assert len(missed) == 2
    assert "| design | another epsilon: T5" in missed[0]
    assert tables.UNEXPLAINED_MISS.why in missed[1]


def test_every_design_names_a_model_that_has_it() -> None:
    for misses in tables.MISSES_BY_MODEL.values():
        for miss in misses:
            assert miss.kind in ("fault", "design", "no effect")
            assert bool(miss.example) == (miss.kind == "design"), miss


def test_too_many_processes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--processes is 0"):
        record.record_mutants_and_variants(tmp_path / "record.json", processes=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "old", "new", "change"),
    [
        (
            "modern",
            "memory_kv[0], memory_kv[1]",
            "memory_kv[1], memory_kv[0]",
            "keys and values ac",
        ),
        (
            "modern",
            "(self, context, start=0)",
            "(self, context, start=1)",
            "keys of the encoder tu",
        ),
        ("modern", "x, k, v, mask, start=0)", "x, k, v, mask, start=1)", "queries of the encoder"),
        ("functional", "return first +", "return first -", "rows of distances reversed"),
        ("functional", "(gap < 0)", "(gap < 1)", "rows of distance 0 exchanged"),
        (
            "functional",
            "c_bias = self.matrix(1,",
            "c_bias = self.matrix(2,",
            "weights drawn at most",
        ),
        # Weights a fifth as large, and an epsilon: neither is a change of the weights.
        ("functional", "width**-0.5", "width**-1.0", ""),
        ("functional", "variance + 1e-5", "variance + 1e-2", ""),
    ],
)
def test_an_equivalent_mutant_is_counted_apart(name: str, old: str, new: str, change: str) -> None:
    """Compare in float64: logits, loss, search, cache and, except after a turn, three steps."""
    model = SOUND_MODELS[name]
    sound = behaviour_fingerprint(run_as_module(model.text), model)
    assert old in model.text
    mutant = run_as_module(model.text.replace(old, new))
    assert not has_fingerprint(mutant, model, sound)
    found = weight_change_undoing_mutation(mutant, model, sound)
    assert found.startswith(change) if change else not found


@pytest.mark.weekly
def test_a_record_is_made_and_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tied = {"tied": record.VARIANT_EDITS_BY_MODEL["paper"]["tied"]}
    monkeypatch.setattr(record, "NUM_MUTANTS_BY_PART", {"paper": {"setup": 2}})
    monkeypatch.setattr(record, "VARIANT_EDITS_BY_MODEL", {"paper": tied})
    monkeypatch.chdir(tmp_path)
    record.record_mutants_and_variants(tmp_path / "first.json", processes=2)
    assert "2 mutants drawn" in capfd.readouterr().out
    (ended,) = (tmp_path / "runs" / "laws").iterdir()
    # The last line is cut short, as by a loss of power.
    ended.write_text(ended.read_text(encoding="utf-8")[:-9], encoding="utf-8")
    record.record_mutants_and_variants(tmp_path / "second.json", processes=1)
    assert capfd.readouterr().out.count("1/1") == 1
    first, second = (read_json(tmp_path / f"{name}.json") for name in ("first", "second"))
    assert first == second
    assert first["paper"]["setup"]["tried"] == 2
    assert first["variants"] == {"runs": 2, "alarms": {}}
