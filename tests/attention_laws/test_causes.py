"""Broken laws that one cause explains stand together, and laws not tried for one reason."""

from attention_laws.causes import CAUSES, group_breaks_by_cause
from attention_laws.laws import MODEL_LAWS
from attention_laws.report import LawResult, Report, Verdict

MIXED = (
    "decoder_is_causal",
    "source_padding_is_ignored",
    "target_padding_is_ignored",
    "batch_rows_are_independent",
)


def test_breaks_that_one_cause_explains_stand_together_the_likeliest_first() -> None:
    groups = group_breaks_by_cause(["logits_are_finite_in_bfloat16", *MIXED, "cache_starts_empty"])
    assert [group.laws for group in groups] == [(*MIXED, "cache_starts_empty")]
    assert "reshape" in groups[0].cause
    groups = group_breaks_by_cause([*MIXED[1:2], *MIXED[3:], "token_order_matters"])
    assert [group.laws for group in groups] == [(MIXED[1], MIXED[3])]
    (group,) = group_breaks_by_cause(MIXED[1:])
    assert group.laws == MIXED[1:]
    assert "reshape" in group.cause
    assert group_breaks_by_cause(MIXED[:1]) == []
    assert group_breaks_by_cause([]) == []
    where = {"a_law": "the decoder", "another": "the decoder", "a_third": ""}
    (group,) = group_breaks_by_cause(where, where)
    assert group.laws == ("a_law", "another")


def test_a_cause_names_laws_that_there_are() -> None:
    names = {law.name for law in MODEL_LAWS}
    assert [cause for cause in CAUSES if not cause.signs | cause.others <= names] == []


def test_laws_that_one_missing_attribute_keeps_shut_share_a_line() -> None:
    laws = {"a_law": "no cached", "another": "no beam", "a_third": "no cached"}
    results = (
        LawResult(law, "It holds.", Verdict.NOT_TRIED, seen, "a slip", "there", 0.1)
        for law, seen in laws.items()
    )
    text = str(Report(tuple(results)))
    assert "NOT TRIED\n  a_law, a_third: no cached\n  another: no beam" in text
