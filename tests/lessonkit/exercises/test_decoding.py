"""Lesson 06: wrong answers that have passed, and right ones that must."""

import math
from functools import partial

import torch

from tests.helpers.exercise_walk import ALL, status


def beam(next_probs, limit, beam_size, stop=""):
    """Beam search, which may end early or let an end take a place of the beam."""
    best, best_prob, finished = [], 0.0, 0
    living = [([2], 1.0)]
    for _ in range(limit):
        longer = [
            ([*written, token], prob * share)
            for written, prob in living
            for token, share in next_probs(written).items()
        ]
        longer.sort(key=lambda each: -each[1])
        if stop == "ends take a place":
            longer = longer[:beam_size]
        for written, prob in longer:
            if written[-1] == 3:
                finished += prob > 0
                if prob > best_prob:
                    best, best_prob = written[1:-1], prob
        living = [each for each in longer if each[0][-1] != 3][:beam_size]
        enough = {"first": 1, "beam full": beam_size}.get(stop, 999)
        nothing_better = not living or best_prob >= living[0][1]
        if finished >= enough or (stop == "nothing better" and nothing_better):
            break
    return best


def test_a_beam_that_ends_early_is_refused_with_advice():
    for stop in ("first", "beam full", "ends take a place"):
        verdict = ALL["beam"].check(partial(beam, stop=stop))
        assert verdict.status == "wrong", stop
        assert ".hint() gives" not in repr(verdict), stop


def test_a_beam_may_stop_where_nothing_better_can_come():
    assert status("beam", beam) == status("beam", partial(beam, stop="nothing better")) == "passed"


def test_a_beam_is_as_wide_as_it_is_told():
    for size in (1, 2, 3):
        assert status("beam", lambda probs, limit, _, n=size: beam(probs, limit, n)) == "wrong"


def search_with_room(model, limit, window=99):
    """A cached search that has made room for all keys and values before it begins."""
    written, kept = [2], None
    for place in range(limit):
        query, key, value = model.project(written[-1], place)
        if kept is None:
            kept = torch.zeros(limit, len(key)), torch.zeros(limit, len(value))
        kept[0][place], kept[1][place] = key, value
        keys, values = (each[max(0, place + 1 - window) : place + 1] for each in kept)
        weights = (keys @ query / len(query) ** 0.5).softmax(dim=0)
        written.append(model.scores(weights @ values).argmax().item())
        if written[-1] == 3:
            return written[1:-1]
    return written[1:]


def test_a_cache_may_be_one_tensor_and_forgets_nothing():
    assert status("cached_greedy", search_with_room) == "passed"
    for window in (1, 2, 3, 4):
        assert status("cached_greedy", partial(search_with_room, window=window)) == "wrong"


def drawn(logits, temperature, top_p, chance, shift=0.0, least=1, safe=True):
    """A draw in plain Python."""
    top = float(logits.max()) if safe else 0.0
    powers = [math.exp((float(logit) - top) / temperature) for logit in logits]
    order = sorted(range(len(powers)), key=powers.__getitem__, reverse=True)
    kept, total = [], 0.0
    for token in order:
        if total < top_p - shift or len(kept) < least:
            kept.append(token)
        total += powers[token] / sum(powers)
    left = chance * sum(powers[token] for token in kept)
    for token in kept:
        left -= powers[token]
        if left < 0:
            return token
    return kept[-1]


def test_a_token_may_be_drawn_without_tensors():
    assert status("sample", drawn) == "passed"
    for wrong in ({"shift": 0.1}, {"least": 2}, {"safe": False}):  # the last one overflows
        assert status("sample", partial(drawn, **wrong)) == "wrong", wrong
