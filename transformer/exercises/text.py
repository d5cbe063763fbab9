"""Exercises of lesson 01: kept types, unknown words, the best pair, padding, batches.

The two about batches stand in `transformer.exercises.text_batches`.
"""

import collections
import itertools

from transformer.exercises.check import Exercise, Property, Wrong
from transformer.exercises.text_batches import pad_and_shift as pad_and_shift
from transformer.exercises.text_batches import token_batches as token_batches

Tokens = list[str]
Spelled = dict[tuple[str, ...], int]


def my_kept_types(tokens: Tokens, min_frequency: int) -> Tokens:
    """List the types that are frequent enough; equals by alphabet."""
    counts = collections.Counter(tokens)
    kept = [word for word in counts if counts[word] >= min_frequency]
    return sorted(kept, key=lambda word: (-counts[word], word))


def keeps_all_types(tokens: Tokens, min_frequency: int) -> Tokens:
    """Have no use for the cut."""
    return my_kept_types(tokens, 1)


def cuts_one_too_many(tokens: Tokens, min_frequency: int) -> Tokens:
    """Ask for more than `min_frequency` where as many are enough."""
    return my_kept_types(tokens, min_frequency + 1)


def only_alphabetical(tokens: Tokens, min_frequency: int) -> Tokens:
    """Sort by the word alone."""
    return sorted(my_kept_types(tokens, min_frequency))


def first_seen_first(tokens: Tokens, min_frequency: int) -> Tokens:
    """Leave equals in the order of the text, as `Counter.most_common` does."""
    counts = collections.Counter(tokens).most_common()
    return [word for word, count in counts if count >= min_frequency]


def equals_backwards(tokens: Tokens, min_frequency: int) -> Tokens:
    """Turn the whole order round, the alphabet with it."""
    counts = collections.Counter(tokens)
    kept = [word for word in counts if counts[word] >= min_frequency]
    return sorted(kept, key=lambda word: (counts[word], word), reverse=True)


def _by_rounds(tokens: Tokens, min_frequency: int) -> Tokens:
    """Go down from the highest count, and through the alphabet in each round."""
    kept = []
    for count in range(len(tokens), min_frequency - 1, -1):
        kept += [word for word in sorted(set(tokens)) if tokens.count(word) == count]
    return kept


def _texts(length: int) -> list[Tokens]:
    return [list(letters) for letters in itertools.product("abc", repeat=length)]


kept_types = Exercise(
    my_kept_types,
    minutes=5,
    difficulty="easy",
    hints=(
        "Three steps: count, leave out what is too rare, sort.",
        "collections.Counter counts. Keep a word when its count is at least min_frequency.",
        "Sort by two things at once: key=lambda word: (-counts[word], word).",
    ),
    worked=[
        ((["b", "a", "b"], 1), ["b", "a"]),
        ((["b", "a", "c", "b", "a"], 2), ["a", "b"]),
        ((["a"], 2), []),
    ],
    cases=[(tokens, cut) for n in (2, 3, 4) for tokens in _texts(n) for cut in (1, 2)],
    expected=_by_rounds,
    wrong=[
        Wrong(
            keeps_all_types,
            "You keep every type, the rare ones too. What is min_frequency for?",
        ),
        Wrong(
            cuts_one_too_many,
            "A word seen exactly min_frequency times should stay: at least, not more than.",
        ),
        Wrong(
            only_alphabetical,
            "This is the order of the alphabet alone. The alphabet only decides between "
            "words that are seen equally often.",
        ),
        Wrong(
            first_seen_first,
            "Words with the same count stand in the order of the text. Then two "
            "shuffles of one text give two vocabularies: let the alphabet decide.",
        ),
        Wrong(
            equals_backwards,
            "reverse=True turns the alphabet round as well. Sort by the negative count instead.",
        ),
    ],
    properties=[Property("each type stands once", lambda value, *_: len(set(value)) == len(value))],
)


def my_unknown_share(types: Tokens, tokens: Tokens) -> float:
    """Give the share of the tokens that a vocabulary does not hold."""
    known = set(types)
    unknown = [token for token in tokens if token not in known]
    return len(unknown) / len(tokens)


def share_of_types(types: Tokens, tokens: Tokens) -> float:
    """Count each unknown word once, and each known one too."""
    different = set(tokens)
    return len(different - set(types)) / len(different)


def unknown_types_by_tokens(types: Tokens, tokens: Tokens) -> float:
    """Count each unknown word once, but divide by the tokens."""
    return len(set(tokens) - set(types)) / len(tokens)


def share_of_known(types: Tokens, tokens: Tokens) -> float:
    """Answer the opposite question."""
    return sum(token in types for token in tokens) / len(tokens)


def divides_by_vocabulary(types: Tokens, tokens: Tokens) -> float:
    """Take the size of the vocabulary for the whole."""
    return sum(token not in types for token in tokens) / len(types)


def _unknown_by_counting(types: Tokens, tokens: Tokens) -> float:
    """Take from 1 what each type of the vocabulary covers."""
    return 1.0 - sum(tokens.count(word) for word in types) / len(tokens)


unknown_share = Exercise(
    my_unknown_share,
    minutes=5,
    difficulty="easy",
    hints=(
        "A share: of how many, how many? Both numbers count tokens, not types.",
        "Go through `tokens`, count those that are not in `types`, divide by len(tokens).",
    ),
    worked=[((["a", "b"], ["a", "x", "a", "x"]), 0.5), ((["a"], ["a"]), 0.0)],
    cases=[
        (types, tokens)
        for types in (["a"], ["b", "a"], ["c", "d", "e"])
        for n in (1, 2, 3, 4)
        for tokens in _texts(n)
    ],
    expected=_unknown_by_counting,
    wrong=[
        Wrong(
            share_of_types,
            "You count types: a word that comes ten times counts once. A reader "
            "meets it ten times.",
        ),
        Wrong(
            unknown_types_by_tokens,
            "Above the line you count types, below it tokens. An unknown word that "
            "comes twice is unknown twice.",
        ),
        Wrong(
            share_of_known,
            "This is the share of tokens that the vocabulary does hold.",
        ),
        Wrong(
            divides_by_vocabulary,
            "You divide by the size of the vocabulary. The question is about the text: "
            "what share of its tokens?",
        ),
    ],
    properties=[Property("a share lies between 0 and 1", lambda value, *_: 0 <= value <= 1)],
)


def my_best_pair(words: Spelled) -> tuple[str, str]:
    """Find the most frequent pair; of equals, the first by alphabet."""
    counts: dict[tuple[str, str], int] = {}
    for pieces, number in words.items():
        for pair in itertools.pairwise(pieces):
            counts[pair] = counts.get(pair, 0) + number
    return min(counts, key=lambda pair: (-counts[pair], pair))


def ignores_word_counts(words: Spelled) -> tuple[str, str]:
    """Count each word once, however often it comes."""
    return my_best_pair(dict.fromkeys(words, 1))


def once_per_word(words: Spelled) -> tuple[str, str]:
    """Count a pair once in a word that holds it twice."""
    counts = collections.Counter(
        {pair: 0 for pieces in words for pair in itertools.pairwise(pieces)}
    )
    for pieces, number in words.items():
        for pair in set(itertools.pairwise(pieces)):
            counts[pair] += number
    return min(counts, key=lambda pair: (-counts[pair], pair))


def last_of_equals(words: Spelled) -> tuple[str, str]:
    """Let `max` decide between equals by the pair itself."""
    return max(_all_pairs(words), key=lambda pair: (_times(pair, words), pair))


def across_words(words: Spelled) -> tuple[str, str]:
    """Join all words into one, so that the end of one meets the beginning of the next."""
    joined = [piece for pieces, number in words.items() for piece in pieces * number]
    return my_best_pair({tuple(joined): 1})


def cuts_in_twos(words: Spelled) -> tuple[str, str]:
    """Part each word into pieces 0-1, 2-3 ... and miss the pairs between."""
    twos: collections.Counter[tuple[str, str]] = collections.Counter()
    for pieces, number in words.items():
        for start in range(0, len(pieces) - 1, 2):
            twos[pieces[start], pieces[start + 1]] += number
    return min(twos, key=lambda pair: (-twos[pair], pair))


def _all_pairs(words: Spelled) -> set[tuple[str, str]]:
    return {(p[i], p[i + 1]) for p in words for i in range(len(p) - 1)}


def _times(pair: tuple[str, str], words: Spelled) -> int:
    return sum(
        number * sum(pieces[i : i + 2] == pair for i in range(len(pieces)))
        for pieces, number in words.items()
    )


def _by_asking_each_pair(words: Spelled) -> tuple[str, str]:
    """Count one pair after the other, from the first of the alphabet on."""
    best = ("", "")
    for pair in sorted(_all_pairs(words)):
        if best == ("", "") or _times(pair, words) > _times(best, words):
            best = pair
    return best


def _spelled_words() -> list[tuple[Spelled]]:
    """Pairs of short words over two and three letters, with counts 1 to 3."""
    spelled = [tuple(letters) for n in (2, 3) for letters in itertools.product("ab", repeat=n)]
    spelled += [("b", "c", "a"), ("a", "b", "a", "b", "c"), ("c", "a", "c", "a")]
    two = itertools.combinations(spelled, 2)
    return [({one: 2, other: 1 + i % 3},) for i, (one, other) in enumerate(two)]


best_pair = Exercise(
    my_best_pair,
    minutes=10,
    difficulty="medium",
    hints=(
        "This is the inner part of the loop that you read: count all pairs, take the best.",
        "itertools.pairwise(pieces) gives the neighbours of one word; each of them counts as "
        "often as the word comes.",
        "min(counts, key=lambda pair: (-counts[pair], pair)) takes the highest count first, "
        "then the alphabet.",
    ),
    worked=[
        (({("a", "b"): 1, ("b", "c"): 2},), ("b", "c")),
        (({("c", "a"): 1, ("a", "b"): 1},), ("a", "b")),
        (({("a", "b", "a", "b"): 2, ("c", "a"): 3},), ("a", "b")),
    ],
    cases=_spelled_words(),
    expected=_by_asking_each_pair,
    wrong=[
        Wrong(
            ignores_word_counts,
            "You count each word once. A word that comes a thousand times brings its "
            "pairs a thousand times.",
        ),
        Wrong(
            once_per_word,
            "A pair may stand twice in one word, and then it counts twice.",
        ),
        Wrong(
            last_of_equals,
            "Where two pairs are equally frequent you take the last by alphabet: `max` "
            "over (count, pair) does that.",
        ),
        Wrong(
            across_words,
            "You count pairs that go over the end of a word. A merge stays inside one word.",
        ),
        Wrong(
            cuts_in_twos,
            "You look at pieces 0 and 1, then 2 and 3. What about 1 and 2?",
        ),
    ],
)
