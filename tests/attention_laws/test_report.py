import json

import pytest

from attention_laws import Line, Report, Verdict


def line(verdict: Verdict, law: str = "a_law") -> Line:
    return Line(law, "It holds.", verdict, f"seen {law}", "a slip", "there", 0.25)


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        ([Verdict.KEPT, Verdict.WARNED, Verdict.NOT_TRIED], 0),
        ([Verdict.KEPT, Verdict.BROKEN], 1),
        ([Verdict.NOT_TRIED], 2),
        ([], 0),
    ],
)
def test_the_exit_status_is_of_broken_laws_alone(verdicts: list[Verdict], status: int) -> None:
    assert Report(tuple(line(each) for each in verdicts)).exit_status == status


def test_lines_are_had_by_name_and_by_verdict() -> None:
    lines = line(Verdict.KEPT, "one"), line(Verdict.BROKEN, "two"), line(Verdict.KEPT, "three")
    report = Report(lines)
    assert report["two"] is lines[1]
    assert report.of(Verdict.KEPT) == [lines[0], lines[2]]
    assert report.broken == ["two"]
    with pytest.raises(KeyError, match="four"):
        report["four"]


def test_it_is_written_with_what_is_broken_first_and_what_to_do() -> None:
    order = (Verdict.NOT_TRIED, Verdict.KEPT, Verdict.WARNED, Verdict.BROKEN)
    report = Report(
        tuple(line(each, f"law_{i}") for i, each in enumerate(order)),
        assumptions=("pad is 0 (--pad)",),
        tolerance=3e-5,
    )
    assert str(report).splitlines() == [
        "4 laws: 1 broken, 1 warned, 1 kept, 1 not tried",
        "assumed: pad is 0 (--pad)",
        "logits that differ by more than 3e-05 are called different",
        "",
        "BROKEN",
        "  law_3: It holds.",
        "    seen     seen law_3",
        "    usually  a slip",
        "    look     there",
        "",
        "WARNED",
        "  law_2: It holds.",
        "    seen     seen law_2",
        "    usually  a slip",
        "    look     there",
        "",
        "KEPT",
        "  law_1: seen law_1",
        "",
        "NOT TRIED",
        "  law_0: seen law_0",
    ]


def test_a_program_reads_all_of_it() -> None:
    report = Report((line(Verdict.BROKEN),), assumptions=("one",), tolerance=1e-5)
    assert json.loads(report.to_json()) == {
        "lines": [
            {
                "law": "a_law",
                "says": "It holds.",
                "verdict": "broken",
                "seen": "seen a_law",
                "means": "a slip",
                "look": "there",
                "seconds": 0.25,
            }
        ],
        "assumptions": ["one"],
        "tolerance": 1e-5,
        "stopped": "",
        "exit_status": 1,
    }
