"""BPE-dropout: a word's pieces drawn anew in each epoch (Provilkov et al. 2020)."""

import random
from collections.abc import Iterator, Sequence

from tokenizers.pre_tokenizers import ByteLevel

from transformer.config import FIRST_ID
from transformer.data.batches import Batch, Example, TokenBudgetBatches
from transformer.data.bpe import BPETokenizer, _prepare

DRAWS = 32


class Pieces:
    def __init__(self, tokenizer: BPETokenizer, dropout: float, seed: int):
        self.tok, self.p, self.seed = tokenizer, dropout, seed
        self.ranks = {pair: rank for rank, pair in reversed(list(enumerate(tokenizer.merges)))}
        self.ids = {p: n + FIRST_ID for p, n in tokenizer.vocabulary.items()}
        self.drawn: dict[str, list[list[int]]] = {}
        self.split = ByteLevel(add_prefix_space=False)

    def words(self, text: str) -> list[list[list[int]]]:
        text = _prepare(self.tok._treat(text), self.tok.lowercase)
        return [self.draws(word) for word, _ in self.split.pre_tokenize_str(text)]

    def draws(self, word: str) -> list[list[int]]:
        if word not in self.drawn:
            chance = random.Random(f"{self.seed} {word}")
            self.drawn[word] = [self.draw(word, chance) for _ in range(DRAWS)]
        return self.drawn[word]

    def draw(self, word: str, chance: random.Random) -> list[int]:
        pieces = list(word)
        while len(pieces) > 1:
            best = None
            for at in range(len(pieces) - 1):
                rank = self.ranks.get((pieces[at], pieces[at + 1]))
                if rank is not None and chance.random() >= self.p and (best is None or rank < best[0]):
                    best = rank, at
            if best is None:
                break
            at = best[1]
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        return [self.ids[p] for p in pieces]


class DrawnBatches:
    def __init__(self, src_tok, tgt_tok, text, data, base: TokenBudgetBatches):
        self.base = base
        self.seed = base.seed
        src = Pieces(src_tok, data.src_bpe_dropout, base.seed)
        tgt = Pieces(tgt_tok, data.tgt_bpe_dropout, base.seed)
        self.src = [src.words(t) for t in text.src]
        self.tgt = [tgt.words(t) for t in text.tgt]
        self.max_tokens = data.max_train_tokens
        self.examples = base.examples

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        chance = random.Random(f"{self.seed} {number} pieces")
        def pick(words):
            return [i for draws in words for i in draws[int(chance.random() * DRAWS)]]
        pairs = [Example(pick(s), pick(t)) for s, t in zip(self.src, self.tgt)]
        pairs = [e for e in pairs if max(map(len, e)) <= self.max_tokens]
        batches = TokenBudgetBatches(pairs, self.base.batch_tokens, seed=self.seed)
        yield from batches.epoch(number, start)
