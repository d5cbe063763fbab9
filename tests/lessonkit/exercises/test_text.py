"""Lesson 01: wrong answers that have passed, and right ones that must."""

import collections
import itertools

import pytest
import torch

from tests.helpers.exercise_walk import status


def letters(tokens, min_frequency):
    counts = collections.Counter("".join(tokens))
    kept = [word for word in counts if counts[word] >= min_frequency]
    return sorted(kept, key=lambda word: (-counts[word], word))


def short_ones_first(tokens, min_frequency):
    counts = collections.Counter(tokens)
    kept = [word for word in counts if counts[word] >= min_frequency]
    return sorted(kept, key=lambda word: (-counts[word], len(word), word))


def lower_case(tokens, min_frequency):
    counts = collections.Counter(token.lower() for token in tokens)
    kept = [word for word in counts if counts[word] >= min_frequency]
    return sorted(kept, key=lambda word: (-counts[word], word))


def never_over_two(tokens, min_frequency):
    counts = collections.Counter(tokens)
    kept = [word for word in counts if counts[word] >= min(min_frequency, 2)]
    return sorted(kept, key=lambda word: (-counts[word], word))


def pairs_of_letters(words):
    counts = collections.Counter()
    for pieces, number in words.items():
        for pair in itertools.pairwise("".join(pieces)):
            counts[pair] += number
    return min(counts, key=lambda pair: (-counts[pair], pair))


def pairs_joined(words):
    counts = collections.Counter()
    for pieces, number in words.items():
        for one, other in itertools.pairwise(pieces):
            counts[one + other] += number
    best = min(counts, key=lambda pair: (-counts[pair], pair))
    return best[0], best[1:]


def padded(sentences, dtype=None, change=list):
    rows = [change(ids) for ids in sentences]
    longest = max(map(len, rows))
    fill = [[0] * (longest - len(ids)) for ids in rows]
    tgt_in = [[2, *ids, *more] for ids, more in zip(rows, fill, strict=True)]
    tgt_out = [[*ids, 3, *more] for ids, more in zip(rows, fill, strict=True)]
    return torch.tensor(tgt_in, dtype=dtype), torch.tensor(tgt_out, dtype=dtype)


def float_ids(sentences):
    return padded(sentences, torch.float)


def short_ids(sentences):
    return padded(sentences, torch.int32)  # no target of a loss in PyTorch


def each_word_once(sentences):
    return padded(sentences, change=dict.fromkeys)


def without_unknown_words(sentences):
    return padded(sentences, change=lambda ids: [token for token in ids if token > 3])


def of_the_first_batch(lengths, budget):
    batches = [[]]
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if (len(batches[0]) + 1) * lengths[i] > budget:
            batches.append([])
        batches[-1].append(i)
    return batches


WRONG = {
    "kept_types": [letters, short_ones_first, lower_case, never_over_two],
    "best_pair": [pairs_of_letters, pairs_joined],
    "pad_and_shift": [float_ids, short_ids, each_word_once, without_unknown_words],
    "token_batches": [of_the_first_batch],
}


@pytest.mark.parametrize(("name", "answer"), [(n, each) for n in WRONG for each in WRONG[n]])
def test_refused(name, answer):
    assert status(name, answer) == "wrong"


def fits_anywhere(lengths, budget):
    batches = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        for batch in batches:
            if (len(batch) + 1) * lengths[i] <= budget:
                batch.append(i)
                break
        else:
            batches.append([i])
    return batches


@pytest.mark.parametrize(
    ("name", "answer"), [("pad_and_shift", padded), ("token_batches", fits_anywhere)]
)
def test_accepted(name, answer):
    assert status(name, answer) == "passed"
