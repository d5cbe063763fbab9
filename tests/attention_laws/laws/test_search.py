"""Faults of searches are told from sound ones; each is an adapter that searches otherwise."""

from collections.abc import Callable

import pytest

from attention_laws import Adapter, Candidate, Report, Verdict, diagnose
from attention_laws.laws import search
from lessonkit.museum.sound import sound
from transformer.config import EOS_ID, PAD_ID

NAMES = [law.name for law in search.LAWS]


def tried(adapter: Adapter, *names: str) -> Report:
    return diagnose(adapter, laws=[law for law in search.LAWS if law.name in (names or NAMES)])


def greedy_of(change: Callable[[list[int]], list[int]]) -> Callable[[Adapter], Adapter]:
    """A fault that changes each row that greedy search gives."""

    def fault(adapter: Adapter) -> Adapter:
        own = adapter.greedy
        assert own is not None
        return adapter.replace(greedy=lambda src, length: [change(row) for row in own(src, length)])

    return fault


def beam_of(change: Callable[[list[Candidate]], list[Candidate]]) -> Callable[[Adapter], Adapter]:
    """A fault that changes each sentence's candidates."""

    def fault(adapter: Adapter) -> Adapter:
        own = adapter.beam
        assert own is not None
        return adapter.replace(
            beam=lambda src, size, length: [change(row) for row in own(src, size, length)]
        )

    return fault


@pytest.mark.parametrize(
    ("fault", "law"),
    [
        (greedy_of(lambda row: row[1:]), "greedy_is_forward"),
        (greedy_of(lambda row: row[:-1]), "greedy_is_forward"),
        (greedy_of(lambda row: [*row[:2], EOS_ID, *row[2:]][:8]), "search_ends"),
        (greedy_of(lambda row: (row * 9)[:9]), "search_ends"),
        (beam_of(lambda row: [each._replace(log_prob=-1.0) for each in row]), "beam_is_forward"),
        (beam_of(lambda row: [each._replace(ids=row[0].ids) for each in row]), "beam_is_forward"),
        (beam_of(lambda row: [row[0], *row[:-1]]), "candidates_in_order"),
    ],
)
def test_a_fault_breaks_its_law_and_shows_where(
    fault: Callable[[Adapter], Adapter], law: str
) -> None:
    reports = [tried(fault(sound(seed, tie_softmax=False)), law) for seed in range(2)]
    assert any(law in report.broken for report in reports), "\n".join(map(str, reports))
    assert all("src [" in report[law].seen for report in reports if law in report.broken)


def test_a_penalty_of_the_wrong_sign_is_told_from_every_sound_one() -> None:
    def broken(rank: Callable[[float, int], float]) -> bool:
        return "length_penalty" in tried(sound().replace(rank=rank), "length_penalty").broken

    assert not broken(lambda log_prob, length: log_prob)
    assert not broken(lambda log_prob, length: log_prob / length)
    assert not broken(lambda log_prob, length: log_prob + 0.5 * length)
    assert broken(lambda log_prob, length: log_prob * length**0.6)
    assert broken(lambda log_prob, length: -log_prob / length)


def test_padding_that_nothing_bars_is_warned_of_unless_the_model_is_fresh() -> None:
    fault = greedy_of(lambda row: [*row[:1], PAD_ID, *row[1:]][:8])
    report = tried(fault(sound(3)).replace(fresh=None), "search_ends")
    assert report["search_ends"].verdict == Verdict.WARNED
    assert f"nothing bars {PAD_ID}" in report["search_ends"].seen
    assert tried(fault(sound(3)), "search_ends")["search_ends"].verdict == Verdict.KEPT


def test_an_eos_that_was_left_in_is_the_adapters() -> None:
    line = tried(greedy_of(lambda row: [*row[:7], EOS_ID])(sound(3)), "search_ends")["search_ends"]
    assert line.verdict == Verdict.NOT_TRIED
    assert f"the adapter is to leave eos, {EOS_ID}, out" in line.seen


def test_a_beam_that_finds_less_than_greedy_is_warned_of() -> None:
    worse = beam_of(lambda row: [each._replace(log_prob=each.log_prob - 30) for each in row])
    report = tried(worse(sound(3)))
    assert report["beam_not_below_greedy"].verdict == Verdict.WARNED, str(report)
    assert "beam_not_below_greedy" not in report.broken


def test_what_is_missing_is_said() -> None:
    report = tried(sound().replace(greedy=None, beam=None, rank=None))
    assert [line.law for line in report.of(Verdict.NOT_TRIED)] == NAMES
    assert report["search_ends"].seen == "the adapter has no greedy and no beam"
