"""A sound encoder-decoder of torch alone, and what trains and searches it: this file is mutated.

The paper's, small (§3 to §5). Nothing of the course is in it, as in anybody's folder.
"""

# mypy: ignore-errors

import math

import torch
from torch import nn

from attention_laws import Adapter, CachedDecoder, Candidate

PAD, BOS, EOS = 0, 2, 3
SRC_TYPES, TGT_TYPES = 23, 29
D_MODEL, D_FF, HEADS, LAYERS, DROPOUT = 32, 64, 4, 2, 0.1
WARMUP, SMOOTHING = 40, 0.1


class MultiHeadAttention(nn.Module):
    """Multi-head attention (§3.2.2)."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(D_MODEL, D_MODEL)
        self.key = nn.Linear(D_MODEL, D_MODEL)
        self.value = nn.Linear(D_MODEL, D_MODEL)
        self.output = nn.Linear(D_MODEL, D_MODEL)

    def split(self, hidden):
        """Turn (batch, length, d_model) into (batch, heads, length, d_k)."""
        return hidden.view(hidden.shape[0], hidden.shape[1], HEADS, -1).transpose(1, 2)

    def scores(self, query, key):
        """Return scaled scores (§3.2.1)."""
        return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])

    def keys(self, hidden):
        """Return keys and values of a sentence."""
        return self.split(self.key(hidden)), self.split(self.value(hidden))

    def forward(self, hidden, keys, mask):
        """Attend; the mask is True where a query may attend."""
        query, (key, value) = self.split(self.query(hidden)), keys
        scores = self.scores(query, key).masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        mixed = (weights @ value).transpose(1, 2)
        return self.output(mixed.reshape(hidden.shape))


class FeedForward(nn.Module):
    """Two maps with a ReLU between (§3.3)."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(D_MODEL, D_FF)
        self.second = nn.Linear(D_FF, D_MODEL)

    def forward(self, hidden):
        """Return the sub-layer's output."""
        return self.second(torch.relu(self.first(hidden)))


class Residual(nn.Module):
    """The sum of a sub-layer's input and output, normalised (§3.1)."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(D_MODEL)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, hidden, sublayer):
        """Return the layer's output."""
        return self.norm(hidden + self.dropout(sublayer(hidden)))


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network (§3.1)."""

    def __init__(self):
        super().__init__()
        self.attention = MultiHeadAttention()
        self.feed_forward = FeedForward()
        self.first = Residual()
        self.second = Residual()

    def forward(self, hidden, mask):
        """Read the source."""
        hidden = self.first(hidden, lambda x: self.attention(x, self.attention.keys(x), mask))
        return self.second(hidden, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention, attention to the memory, and a feed-forward network (§3.1)."""

    def __init__(self):
        super().__init__()
        self.attention = MultiHeadAttention()
        self.cross = MultiHeadAttention()
        self.feed_forward = FeedForward()
        self.first = Residual()
        self.second = Residual()
        self.third = Residual()

    def forward(self, hidden, memory, mask, src_mask, past=None):
        """Read the target; `past` holds the keys and values of earlier tokens."""

        def attend(x):
            keys = self.attention.keys(x)
            if past:
                keys = [torch.cat(pair, dim=2) for pair in zip(past, keys, strict=True)]
            if past is not None:
                past[:] = keys
            return self.attention(x, keys, mask)

        hidden = self.first(hidden, attend)
        hidden = self.second(hidden, lambda x: self.cross(x, self.cross.keys(memory), src_mask))
        return self.third(hidden, self.feed_forward)


class Embedding(nn.Module):
    """Words and sinusoids (§3.4, §3.5)."""

    def __init__(self, types):
        super().__init__()
        self.words = nn.Embedding(types, D_MODEL)
        nn.init.normal_(self.words.weight, std=D_MODEL**-0.5)
        self.dropout = nn.Dropout(DROPOUT)
        place = torch.arange(64)[:, None]
        angles = place / 10000 ** (torch.arange(0, D_MODEL, 2) / D_MODEL)
        waves = torch.zeros(64, D_MODEL)
        waves[:, 0::2] = torch.sin(angles)
        waves[:, 1::2] = torch.cos(angles)
        self.register_buffer("waves", waves)

    def forward(self, ids, start=0):
        """Return (batch, length, d_model) of ids, the first of which is at position `start`."""
        words = self.words(ids) * math.sqrt(D_MODEL)
        return self.dropout(words + self.waves[start : start + ids.shape[1]])


class EncoderDecoder(nn.Module):
    """The whole (§3)."""

    def __init__(self):
        super().__init__()
        self.src = Embedding(SRC_TYPES)
        self.tgt = Embedding(TGT_TYPES)
        self.encoder = nn.ModuleList(EncoderLayer() for _ in range(LAYERS))
        self.decoder = nn.ModuleList(DecoderLayer() for _ in range(LAYERS))
        self.output = nn.Linear(D_MODEL, TGT_TYPES)

    def encode(self, src):
        """Return the memory."""
        mask = (src != PAD)[:, None, None, :]
        hidden = self.src(src)
        for layer in self.encoder:
            hidden = layer(hidden, mask)
        return hidden

    def decode(self, tgt_in, memory, src, pasts=None):
        """Return logits; `pasts` holds each layer's keys and values of earlier tokens."""
        length = tgt_in.shape[1]
        start = pasts[0][0].shape[2] if pasts and pasts[0] else 0
        mask = torch.ones(length, start + length).tril(start).bool()
        hidden = self.tgt(tgt_in, start)
        for number, layer in enumerate(self.decoder):
            past = None if pasts is None else pasts[number]
            hidden = layer(hidden, memory, mask, (src != PAD)[:, None, None, :], past)
        return self.output(hidden)

    def forward(self, src, tgt_in):
        """Return logits (batch, tgt_len, types)."""
        return self.decode(tgt_in, self.encode(src), src)


class TrainingAndSearch:
    """How a model is trained and searched (§5, §6.1)."""

    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)

    def make_batch(self, sources, targets):
        """Return src, tgt_in and tgt_out, padded."""

        def padded(rows):
            longest = max(len(row) for row in rows)
            return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])

        src = padded([[*source, EOS] for source in sources])
        tgt = padded([[BOS, *target, EOS] for target in targets])
        return src, tgt[:, :-1], tgt[:, 1:]

    def loss(self, logits, tgt_out):
        """Return the smoothed loss, nats per real token (§5.4)."""
        log_probs = logits.log_softmax(dim=-1)
        true = log_probs.gather(-1, tgt_out[..., None])[..., 0]
        others = log_probs.mean(dim=-1)
        losses = -(1 - SMOOTHING) * true - SMOOTHING * others
        real = tgt_out != PAD
        return losses[real].sum() / real.sum()

    def rate(self, step):
        """Return the learning rate (§5.3, Eq. 3)."""
        return D_MODEL**-0.5 * min(step**-0.5, step * WARMUP**-1.5)

    def train_step(self, src, tgt_in, tgt_out):
        """Make one update, and return its loss."""
        self.model.train()
        self.optimizer.zero_grad()
        loss = self.loss(self.model(src, tgt_in), tgt_out)
        loss.backward()
        state = next(iter(self.optimizer.state.values()), {"step": 0})
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(int(state["step"]) + 1)
        self.optimizer.step()
        return loss.item()

    def start(self, src):
        """Encode, and begin with an empty cache."""
        return [self.model.encode(src), src, [[] for _ in range(LAYERS)]]

    def step(self, tokens, cache):
        """Read the newest tokens."""
        memory, src, pasts = cache
        return self.model.decode(tokens, memory, src, pasts)[:, -1], cache

    def reorder(self, cache, rows):
        """Return the cache of other rows."""
        memory, src, pasts = cache
        return [memory[rows], src[rows], [[each[rows] for each in past] for past in pasts]]

    def greedy(self, src, length):
        """Take the best token at each step."""
        return [found[0].ids for found in self.beam(src, 1, length)]

    def beam(self, src, size, length):
        """Follow the best prefixes of each source (§6.1)."""
        self.model.eval()
        with torch.no_grad():
            return [self._beam(row[None], size, length) for row in src]

    def _beam(self, src, size, length):
        cache, prefixes, sums, done = self.start(src), [[]], torch.zeros(1), []
        tokens = torch.tensor([[BOS]])
        for _ in range(length):
            logits, cache = self.step(tokens, cache)
            logits[:, [PAD, BOS]] = -torch.inf
            totals = sums[:, None] + logits.log_softmax(dim=-1)
            best = totals.flatten().topk(min(2 * size, totals.numel()))
            going = []
            for total, index in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                row, token = divmod(index, TGT_TYPES)
                if token == EOS:
                    done.append(Candidate(prefixes[row], total, True))
                elif len(going) < size:
                    going.append((row, token, total))
                if size == 1:
                    break
            if len(done) >= size or not going:
                break
            rows = torch.tensor([row for row, _, _ in going])
            prefixes = [[*prefixes[row], token] for row, token, _ in going]
            sums = torch.tensor([total for _, _, total in going])
            tokens = torch.tensor([[token] for _, token, _ in going])
            cache = self.reorder(cache, rows)
        if len(done) < size:
            done += [Candidate(*pair, False) for pair in zip(prefixes, sums.tolist(), strict=True)]
        return sorted(done, key=lambda each: -each.log_prob)[:size]

    def rank(self, log_prob, length):
        """Divide by the length penalty (§6.1)."""
        return log_prob / ((5 + length) / 6) ** 0.6


def make_model():
    """Return the model alone."""
    torch.manual_seed(0)
    return EncoderDecoder()


def make_adapter(model=None):
    """Return the model with all that trains it and searches."""
    setup = TrainingAndSearch(model or make_model())
    model = setup.model
    return Adapter(
        forward=model,
        module=model,
        src_vocab_size=SRC_TYPES,
        tgt_vocab_size=TGT_TYPES,
        encode=model.encode,
        decode=model.decode,
        cached=CachedDecoder(start=setup.start, step=setup.step, reorder=setup.reorder),
        greedy=setup.greedy,
        beam=setup.beam,
        candidate_score=setup.rank,
        alpha=0.6,
        loss=setup.loss,
        label_smoothing=SMOOTHING,
        optimizer=setup.optimizer,
        optimizer_settings={"betas": (0.9, 0.98), "eps": 1e-9},
        train_step=setup.train_step,
        schedule=setup.rate,
        warmup_steps=WARMUP,
        d_model=D_MODEL,
        norm_epsilon=1e-5,
        dropout=DROPOUT,
        attention_dropout=0.0,
        make_batch=setup.make_batch,
        untrained=True,
    )
