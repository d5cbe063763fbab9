"""From text to batches, at a million pairs: seconds of the processor and bytes, beside other ways.

Not in the paper. The pairs are recombined from Multi30k's captions: the first half of one and the
second half of another, on both sides. Contenders take turns, round by round.
"""

import json
import random
import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from experiments.tables import markdown_table
from lessonkit.analysis.timing import process_seconds_of_call
from transformer.config import NUM_SPECIAL_TOKENS
from transformer.data import corpora, tokenizers
from transformer.data.batches import encode_pairs
from transformer.data.fast_encoding import encode_to_arrays
from transformer.data.grouping import Pair
from transformer.data.normalizers import NORMALIZERS, normalizer_name_of_language
from transformer.data.parallel import ParallelText
from transformer.data.pre_tokenizers import PRE_TOKENIZER_OF_NEW_VOCABULARIES, PRE_TOKENIZERS
from transformer.data.token_budget import TokenBudgetBatches
from transformer.data.tokenizers import BPETokenizer
from transformer.recipes import find_recipe

RECIPE_NAME = "multi30k-de-en"
VOCAB_SIZE = find_recipe(RECIPE_NAME).data.vocab_size
NUM_PAIRS = 1_000_000
NUM_PAIRS_OF_PEERS = 50_000  # that those contenders encode whose cost a token is the same
NUM_TIMED_ROUNDS = 3
BATCH_TOKENS = 25_000  # §5.1
SEED = 1


def measure_text_to_batches(
    num_pairs: int = NUM_PAIRS, num_pairs_of_peers: int = NUM_PAIRS_OF_PEERS
) -> dict[str, Any]:
    """Measure every stage, printing the figures of each."""
    data = find_recipe(RECIPE_NAME).data
    captions = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang)
    figures: dict[str, Any] = {
        "pairs": num_pairs,
        "rounds": NUM_TIMED_ROUNDS,
        "recipe": RECIPE_NAME,
    }
    pairs = recombined_pairs(captions, num_pairs)
    text = ParallelText(data.src_lang, data.tgt_lang, *map(list, zip(*pairs, strict=True)))
    del pairs
    figures["vocabulary"] = compare_vocabularies(text)
    print(f"vocabularies: {figures['vocabulary']}", flush=True)
    src, tgt = tokenizers.train(data, captions.src, captions.tgt)
    assert isinstance(src, BPETokenizer)
    figures["encoding"] = compare_encoders(src, captions.src, text.src, num_pairs_of_peers)
    print(f"encoding: {figures['encoding']}", flush=True)
    return figures | measure_batches(encode_pairs(src, tgt, text))


def recombined_pairs(captions: ParallelText, num_pairs: int) -> list[Pair]:
    """Return pairs of halves of captions, drawn at random: the first of one, the second of another.

    Each half is of words between blanks, on both sides.
    """
    generator = random.Random(SEED)
    halves = [
        [(words[: len(words) // 2], words[len(words) // 2 :]) for words in map(str.split, side)]
        for side in (captions.src, captions.tgt)
    ]
    pairs = []
    for _ in range(num_pairs):
        first, second = generator.randrange(len(captions)), generator.randrange(len(captions))
        src, tgt = (" ".join([*side[first][0], *side[second][1]]) for side in halves)
        pairs.append((src, tgt))
    return pairs


# --- vocabularies and encoding --------------------------------------------------------------


def compare_vocabularies(text: ParallelText) -> dict[str, Any]:
    """Learn a joint vocabulary: from counts of words, and by two libraries from the lines."""
    merges: dict[str, Any] = {}

    def learn_from_counts() -> None:
        data = find_recipe(RECIPE_NAME).data
        tokenizer, _ = tokenizers.train(data, text.src, text.tgt)
        assert isinstance(tokenizer, BPETokenizer)
        merges["ours"] = tokenizer.merges

    def learn_by_library() -> None:
        merges["theirs"] = _merges_of_library(text)

    contenders: dict[str, Callable[[], object]] = {
        "ours, from counts of words": learn_from_counts,
        "tokenizers": learn_by_library,
    }
    if find_spec("sentencepiece"):
        sides = (text.src, text.tgt)
        contenders["sentencepiece"] = lambda: _train_sentencepiece(chain(*sides), VOCAB_SIZE)
    seconds = _seconds_in_turn(contenders, rounds=1)
    same = merges["ours"] == merges["theirs"]
    return {"merges": len(merges["ours"]), "same_merges": same, "seconds": seconds}


def _merges_of_library(text: ParallelText) -> list[tuple[str, str]]:
    """Learn the merges of the recipe by the library `tokenizers`, which reads every line."""
    learner = Tokenizer(BPE())
    learner.pre_tokenizer = PRE_TOKENIZERS[PRE_TOKENIZER_OF_NEW_VOCABULARIES]
    trainer = BpeTrainer(
        vocab_size=VOCAB_SIZE - NUM_SPECIAL_TOKENS,
        min_frequency=find_recipe(RECIPE_NAME).data.min_frequency,
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    sides = ((text.src_lang, text.src), (text.tgt_lang, text.tgt))
    lines = (
        f" {NORMALIZERS[normalizer_name_of_language(lang)](line)}"
        for lang, side in sides
        for line in side
    )
    learner.train_from_iterator(lines, trainer)
    return [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]


Contender = tuple[Sequence[str], Callable[[Sequence[str]], Any]]  # its lines, and how it encodes


def compare_encoders(
    tokenizer: BPETokenizer,
    captions: Sequence[str],
    texts: Sequence[str],
    num_texts_of_peers: int,
) -> dict[str, Any]:
    """Encode one side by each way, in turn; ours encodes all texts, the others a part."""
    some = texts[:num_texts_of_peers]
    contenders = _encoders(tokenizer, captions, texts, some)
    tokens = {name: _count_tokens(encode(lines)) for name, (lines, encode) in contenders.items()}
    ids = encode_to_arrays(tokenizer, some)
    same = [ids.sentence(row) for row in range(len(ids))] == tokenizer.encode_all(some)
    seconds = _seconds_in_turn(
        {name: partial(encode, lines) for name, (lines, encode) in contenders.items()},
        NUM_TIMED_ROUNDS,
    )
    return {
        "same_ids": same,
        "versions": {name: _version(name) for name in ("tokenizers", "sentencepiece")},
        "contenders": {
            name: {
                "sentences": len(lines),
                "tokens": tokens[name],
                "seconds_a_million_tokens": [
                    round(took / tokens[name] * 1e6, 3) for took in seconds[name]
                ],
            }
            for name, (lines, _) in contenders.items()
        },
    }


def _encoders(
    tokenizer: BPETokenizer, captions: Sequence[str], texts: Sequence[str], some: Sequence[str]
) -> dict[str, Contender]:
    """Return the ways to encode: ours all `texts`, the others some of them."""
    library = tokenizer._library

    def encode_by_library(lines: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in library.encode_batch([f" {line}" for line in lines])]

    contenders: dict[str, Contender] = {
        "ours, each distinct word once": (texts, partial(encode_to_arrays, tokenizer)),
        "ours, plain": (some, tokenizer.encode_all),
        "tokenizers by hand": (some, encode_by_library),
    }
    if find_spec("sentencepiece"):
        processor = _train_sentencepiece(captions, tokenizer.vocab_size)
        encode = partial(processor.encode, out_type=int, num_threads=1)
        contenders["sentencepiece"] = (some, encode)
    return contenders


def _count_tokens(encoded: Any) -> int:
    return len(encoded.ids) if hasattr(encoded, "ids") else sum(map(len, encoded))


def _version(package: str) -> str:
    return version(package) if find_spec(package) else "not installed"


def _train_sentencepiece(lines: Iterable[str], vocab_size: int) -> Any:
    """Return sentencepiece's processor with a vocabulary learned from lines."""
    import sentencepiece

    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "model")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_prefix=prefix,
            model_type="bpe",
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            num_threads=1,
            minloglevel=2,
        )
        return sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")


def _seconds_in_turn(
    contenders: dict[str, Callable[[], object]], rounds: int
) -> dict[str, list[float]]:
    """Return the seconds of every round of each contender, in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            seconds[name].append(round(process_seconds_of_call(contender), 3))
    return seconds


# --- batches --------------------------------------------------------------------------------


def measure_batches(examples: Any) -> dict[str, Any]:
    """Measure the memory of examples, the plan of an epoch, and a batch."""
    num_tokens = len(examples.src.ids) + len(examples.tgt.ids)
    arrays = (side for pair in (examples.src, examples.tgt) for side in (pair.ids, pair.offsets))
    batches = TokenBudgetBatches(examples, BATCH_TOKENS)
    plans, making = [], []
    for epoch in range(NUM_TIMED_ROUNDS):
        plans.append(process_seconds_of_call(partial(batches.plan, epoch)))
        num_batches = len(batches.plan(epoch))
        whole = process_seconds_of_call(partial(_make_batches, batches, epoch))
        making.append((whole - plans[-1]) / num_batches)
    return {
        "tokens": num_tokens,
        "bytes_a_token": round(sum(array.nbytes for array in arrays) / num_tokens, 2),
        "plan_seconds": [round(seconds, 3) for seconds in plans],
        "batch_tokens": BATCH_TOKENS,
        "batches": num_batches,
        "batch_milliseconds": [round(seconds * 1000, 2) for seconds in making],
    }


def _make_batches(batches: TokenBudgetBatches, epoch: int) -> None:
    """Make the batches of an epoch one after the other, and keep none."""
    for _ in batches.epoch(epoch):
        pass


def data_tables(figures: dict[str, Any]) -> str:
    """Return the tables of encoding, and of all else."""
    contenders = figures["encoding"]["contenders"]
    first = statistics.median(next(iter(contenders.values()))["seconds_a_million_tokens"])
    rows = []
    for name, measured in contenders.items():
        seconds = measured["seconds_a_million_tokens"]
        median = statistics.median(seconds)
        ends = f"{min(seconds):.2f} to {max(seconds):.2f}"
        rows.append([name, f"{measured['sentences']:,}", f"{median:.2f} ({ends})"])
        rows[-1].append(f"{median / first:.1f}")
    head = ["encoding by", "sentences", "s a million tokens", "times ours"]
    encoding = markdown_table(head, rows, words=range(1))
    others = [
        [f"vocabulary: {name}", f"{statistics.median(seconds):.1f} s"]
        for name, seconds in figures["vocabulary"]["seconds"].items()
    ]
    others.append(["examples, bytes a token", f"{figures['bytes_a_token']:.2f}"])
    plan = np.median(figures["plan_seconds"])
    others.append(["plan of an epoch", f"{plan:.2f} s"])
    batch = np.median(figures["batch_milliseconds"])
    others.append([f"a batch of {figures['batch_tokens']:,} tokens", f"{batch:.1f} ms"])
    about = f"{figures['hardware']}, {figures['date']}, {figures['pairs']:,} pairs, "
    about += f"{figures['tokens']:,} tokens:"
    rest = markdown_table([about.removesuffix(":"), ""], others, words=range(1))
    return f"{about}\n\n{encoding}\n\n{rest}"
