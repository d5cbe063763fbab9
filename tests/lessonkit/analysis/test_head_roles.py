"""Heads' roles: heads of known habits get the scores that their habits earn."""

import pytest
import torch

from lessonkit.analysis import head_roles as hr
from lessonkit.analysis import roles
from lessonkit.analysis import word_pairs as wp
from lessonkit.analysis.head_roles import NamedHead, Role, name_heads, role_scores
from lessonkit.analysis.head_table import head_table
from lessonkit.analysis.heads import Head
from transformer.data import embedded as reader
from transformer.model import AttentionMaps
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.support.paths import results_folder

KINDS = ("itself", "before", "next", "first", "second")


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("demo-en-fr")


def looking(kind: str, q_len: int, k_len: int) -> torch.Tensor:
    """Weights (q_len, k_len) of a head that always looks in the same way."""
    if kind == "first":
        return torch.eye(k_len)[torch.zeros(q_len, dtype=torch.long)]
    shift = {"itself": 0, "before": -1, "next": 1, "second": 2}[kind]
    return torch.eye(k_len)[(torch.arange(q_len) + shift).clamp(0, k_len - 1)]


@pytest.fixture
def scored(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], Role]:
    """Scores of made-up heads on sentences whose words have one piece each."""

    def maps(src: torch.Tensor, tgt_in: torch.Tensor) -> AttentionMaps:
        sizes = {
            "encoder": (src.shape[1], src.shape[1]),
            "decoder": (tgt_in.shape[1], tgt_in.shape[1]),
            "cross": (tgt_in.shape[1], src.shape[1]),
        }
        return AttentionMaps(
            **{
                name: torch.stack([looking(kind, *size) for kind in KINDS])[None, None]
                for name, size in sizes.items()
            }
        )

    monkeypatch.setattr(translator.model, "attention_maps", maps)
    monkeypatch.setattr(hr, "FEWEST", 11)
    tokenizer = translator.src_tokenizer
    short = [
        each
        for each in reader.sentences("test")
        if len(tokenizer.encode(reader.as_written(each.en, "en"))) == len(each.en.split())
    ]
    return {(role.stack, role.role): role for role in role_scores(translator, short[:150])}


def test_positional_heads_score_one(scored: dict[tuple[str, str], Role]) -> None:
    for head, role in enumerate((wp.ITSELF, wp.BEFORE, wp.NEXT)):
        assert scored["encoder", role].scores[0, head] == 1
    assert scored["decoder", roles.READ].scores[0].tolist()[0] == 1
    assert scored["decoder", roles.START].scores[0].tolist()[3] == 1


def test_a_head_that_always_looks_as_far_away_finds_no_noun(
    scored: dict[tuple[str, str], Role],
) -> None:
    """Most determiners stand one or two words before their nouns: either fails in the others."""
    nouns = scored["encoder", wp.NOUN]
    assert nouns.cases >= 11
    assert nouns.scores[0].tolist() == [0, 0, 0, 0, 0]
    assert 0 < nouns.even < 0.25


def test_a_case_with_a_word_as_far_away_as_usual_is_a_usual_one() -> None:
    played = torch.ones(1, 1)
    cases = [
        hr._Case("encoder", "a", 0.1, frozenset(away), played) for away in ({-1}, {-1, -4}, {2})
    ]
    assert hr._by_place(cases) == (cases[:2], cases[2:])


def test_the_rarest_word_is_seldom_first(scored: dict[tuple[str, str], Role]) -> None:
    rare = scored["encoder", hr.RARE]
    assert rare.scores[0, 0] == 0  # no row of the rarest word itself
    assert rare.cases > 300


def role(name: str, even: float, *scores: float, cases: int = 90) -> Role:
    return Role("cross", name, cases, even, torch.tensor([scores]))


def test_heads_are_named_on_some_sentences_and_scored_on_others() -> None:
    chosen_on = [role("a", 0.1, 0.3, 0.9), role("b", 0.5, 0.6, 0.95)]
    scored_on = [role("a", 0.2, 0.4, 0.7), role("b", 0.5, 0.9, 0.1, cases=70)]
    first, second = name_heads(chosen_on, scored_on)
    assert first == NamedHead(Head("cross", 1, 1), "a", pytest.approx(0.4), 0.2, 90)  # type: ignore[arg-type]
    assert second[:2] == (Head("cross", 1, 2), "a")
    assert (first.named, second.named) == (False, True)


def test_a_role_with_too_few_cases_elsewhere_is_not_given() -> None:
    (named, _) = name_heads(
        [role("a", 0.1, 0.3, 0.3), role("b", 0.1, 0.9, 0.9)], [role("a", 0.1, 0.2, 0.2)]
    )
    assert named.role == "a"


def test_no_sentences_are_refused(translator: Translator) -> None:
    with pytest.raises(UserError, match="give at least one"):
        role_scores(translator, [])


def test_the_table_joins_roles_and_costs() -> None:
    one = {"role": "a", "score": 0.7, "even": 0.1, "cases": 90, "named": True}
    removed = {"beam": 93.0, "low": -4.0, "high": -2.5}
    removals = {
        "model": "m",
        "figures": {"whole": {"beam": 96.2}, "mean": {"heads": {"cross 1.1": removed}}},
    }
    (row,) = head_table({"model": "m", "figures": {"cross 1.1": one}}, removals)
    assert row == ("cross 1.1", "a", 0.7, 0.1, 90, True, 3.2, 2.5, 4.0)
    with pytest.raises(UserError, match="roles of other beside removals of m"):
        head_table({"model": "other", "figures": {}}, removals)


def test_what_the_records_say() -> None:
    rows = head_table(
        *(read_json(results_folder() / kind / "demo-en-fr.json") for kind in ("roles", "heads"))
    )
    named = {row.head: row for row in rows if row.named}
    assert len(rows) == 24
    assert named["encoder 2.3"].role == wp.NOUN
    assert [name for name in named if name.startswith("encoder")] == ["encoder 2.3"]
    assert max(rows, key=lambda row: row.cost).head == "decoder 1.3"
