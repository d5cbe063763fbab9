"""A sound encoder-decoder in a functional style, with relative positions: this file is mutated.

Its weights stand in dictionaries, einsum and `torch.nn.functional` do the rest. A learned number
for each distance is added to the scores, as T5 does; norms stand before the sub-layers. Search
runs the whole decoder anew at each step. Nothing of the course is in it, as in anybody's folder.
"""

# mypy: ignore-errors

import math

import torch
import torch.nn.functional as F
from torch import einsum, nn

from attention_laws import Adapter, Candidate

PAD, BOS, EOS = 0, 1, 2
SRC_TYPES, TGT_TYPES = 23, 31
WIDTH, INNER, HEADS, LAYERS, DROPOUT = 24, 56, 3, 2, 0.1
BUCKETS, FARTHEST = 8, 16
WARMUP, SMOOTHING, CLIP = 25, 0.1, 5.0


class Weights(nn.Module):
    """All parameters, drawn."""

    def matrix(self, width, *shape):
        """Draw weights for inputs of a width."""
        return nn.Parameter(torch.randn(*shape) * width**-0.5)

    def attention(self):
        """Return the weights of one attention."""
        return nn.ParameterDict(
            {
                "q": self.matrix(WIDTH, HEADS, WIDTH // HEADS, WIDTH),
                "kv": self.matrix(WIDTH, 2, HEADS, WIDTH // HEADS, WIDTH),
                "out": self.matrix(WIDTH, WIDTH, HEADS, WIDTH // HEADS),
            }
        )

    def feed_forward(self):
        """Return the weights of one feed-forward network."""
        return nn.ParameterDict(
            {
                "in": self.matrix(WIDTH, INNER, WIDTH),
                "in_bias": nn.Parameter(torch.zeros(INNER)),
                "out": self.matrix(INNER, WIDTH, INNER),
                "out_bias": nn.Parameter(torch.zeros(WIDTH)),
            }
        )

    def norm(self):
        """Return the weights of one norm."""
        scale, shift = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.zeros(WIDTH))
        return nn.ParameterDict({"scale": scale, "shift": shift})

    def layer(self, cross):
        """Return the weights of one layer."""
        parts = {"self": self.attention(), "self_norm": self.norm()}
        if cross:
            parts |= {"cross": self.attention(), "cross_norm": self.norm()}
        return nn.ModuleDict(parts | {"ffn": self.feed_forward(), "ffn_norm": self.norm()})


class RelativeTransformer(Weights):
    """The whole."""

    def __init__(self):
        super().__init__()
        self.src_words = self.matrix(1, SRC_TYPES, WIDTH)
        self.tgt_words = self.matrix(1, TGT_TYPES, WIDTH)
        self.enc_bias = self.matrix(1, BUCKETS, HEADS)
        self.dec_bias = self.matrix(1, BUCKETS, HEADS)
        self.encoder = nn.ModuleList([self.layer(False) for _ in range(LAYERS)])
        self.decoder = nn.ModuleList([self.layer(True) for _ in range(LAYERS)])
        self.enc_norm, self.dec_norm = self.norm(), self.norm()
        self.logits = self.matrix(WIDTH, TGT_TYPES, WIDTH)

    def normalize(self, x, weights):
        """Return x with mean 0 and variance 1, scaled and shifted."""
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = (centred**2).mean(dim=-1, keepdim=True)
        return centred / (variance + 1e-5).sqrt() * weights["scale"] + weights["shift"]

    def buckets(self, q_len, k_len, both_sides):
        """Return the bucket of each distance: exact if near, in logarithms if far."""
        gap = torch.arange(q_len)[:, None] - torch.arange(k_len)
        half = BUCKETS // 2 if both_sides else BUCKETS
        first = (gap < 0).long() * half if both_sides else 0
        gap = gap.abs() if both_sides else gap.clamp(min=0)
        exact = half // 2
        far = torch.log(gap.clamp(min=1) / exact) / math.log(FARTHEST / exact)
        far = (exact + far * (half - exact)).long().clamp(max=half - 1)
        return first + torch.where(gap < exact, gap, far)

    def attend(self, x, context, weights, mask, bias=0.0):
        """Return what x reads of the context."""
        q = einsum("hdw,bqw->bhqd", weights["q"], x)
        k, v = einsum("nhdw,bkw->nbhkd", weights["kv"], context)
        scores = einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(WIDTH // HEADS)
        scores = (scores + bias).masked_fill(~mask, torch.finfo(scores.dtype).min)
        shares = F.dropout(F.softmax(scores, dim=-1), DROPOUT, self.training)
        return einsum("whd,bhqk,bhkd->bqw", weights["out"], shares, v)

    def feed(self, x, weights):
        """Return the feed-forward network's output."""
        inner = F.gelu(F.linear(x, weights["in"], weights["in_bias"]))
        return F.linear(inner, weights["out"], weights["out_bias"])

    def add(self, x, change):
        """Return the residual sum."""
        return x + F.dropout(change, DROPOUT, self.training)

    def encode(self, src):
        """Return the memory."""
        mask = src.ne(PAD)[:, None, None]
        bias = self.enc_bias[self.buckets(src.size(1), src.size(1), True)].permute(2, 0, 1)
        x = F.dropout(F.embedding(src, self.src_words), DROPOUT, self.training)
        for layer in self.encoder:
            normal = self.normalize(x, layer["self_norm"])
            x = self.add(x, self.attend(normal, normal, layer["self"], mask, bias))
            x = self.add(x, self.feed(self.normalize(x, layer["ffn_norm"]), layer["ffn"]))
        return self.normalize(x, self.enc_norm)

    def decode(self, tgt_in, memory, src):
        """Return logits."""
        length = tgt_in.size(1)
        mask, causal = src.ne(PAD)[:, None, None], torch.ones(length, length).tril().bool()
        bias = self.dec_bias[self.buckets(length, length, False)].permute(2, 0, 1)
        x = F.dropout(F.embedding(tgt_in, self.tgt_words), DROPOUT, self.training)
        for layer in self.decoder:
            normal = self.normalize(x, layer["self_norm"])
            x = self.add(x, self.attend(normal, normal, layer["self"], causal, bias))
            normal = self.normalize(x, layer["cross_norm"])
            x = self.add(x, self.attend(normal, memory, layer["cross"], mask))
            x = self.add(x, self.feed(self.normalize(x, layer["ffn_norm"]), layer["ffn"]))
        return F.linear(self.normalize(x, self.dec_norm), self.logits)

    def forward(self, src, tgt_in):
        """Return logits (batch, tgt_len, types)."""
        return self.decode(tgt_in, self.encode(src), src)


class TrainingAndSearch:
    """How a model is trained and searched."""

    def __init__(self, model):
        self.model, self.updates = model, 0
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)

    def state_dict(self):
        """Return the number of updates."""
        return {"updates": self.updates}

    def load_state_dict(self, state):
        """Go back to a number of updates."""
        self.updates = state["updates"]

    def make_batch(self, sources, targets):
        """Return src, tgt_in and tgt_out, padded."""
        src_len, tgt_len = max(map(len, sources)) + 1, max(map(len, targets)) + 1
        src = torch.full((len(sources), src_len), PAD)
        tgt_in = torch.full((len(targets), tgt_len), PAD)
        tgt_out = tgt_in.clone()
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            src[row, : len(source) + 1] = torch.tensor([*source, EOS])
            tgt_in[row, : len(target) + 1] = torch.tensor([BOS, *target])
            tgt_out[row, : len(target) + 1] = torch.tensor([*target, EOS])
        return src, tgt_in, tgt_out

    def loss(self, logits, tgt_out):
        """Return the smoothed loss, nats per real token."""
        log_probs = F.log_softmax(logits, dim=-1)
        q = F.one_hot(tgt_out, TGT_TYPES) * (1 - SMOOTHING) + SMOOTHING / TGT_TYPES
        weight = tgt_out.ne(PAD).float()
        return -((q * log_probs).sum(dim=-1) * weight).sum() / weight.sum()

    def rate(self, step):
        """Return the learning rate (Eq. 3)."""
        return WIDTH**-0.5 * min(step**-0.5, step * WARMUP**-1.5)

    def train_step(self, src, tgt_in, tgt_out):
        """Make one update, and return its loss."""
        self.model.train()
        self.updates += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(self.updates)
        loss = self.loss(self.model(src, tgt_in), tgt_out)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def greedy(self, src, length):
        """Take the best token of all rows at each step."""
        self.model.eval()
        memory, ids = self.model.encode(src), torch.full((src.size(0), 1), BOS)
        ended = torch.zeros(src.size(0), dtype=torch.bool)
        for _ in range(length):
            logits = self.model.decode(ids, memory, src)[:, -1]
            logits[:, [PAD, BOS]] = -math.inf
            newest = logits.argmax(dim=-1).masked_fill(ended, EOS)
            ids, ended = torch.cat((ids, newest[:, None]), dim=1), ended | (newest == EOS)
            if ended.all():
                break
        rows = ids[:, 1:].tolist()
        return [row[: row.index(EOS)] if EOS in row else row for row in rows]

    @torch.no_grad()
    def beam(self, src, size, length):
        """Follow the best prefixes of each source."""
        self.model.eval()
        return [self.search(row[None, row.ne(PAD)], size, length) for row in src]

    def search(self, src, size, length):
        """Return the candidates of one source, the best first."""
        memory, alive, done = self.model.encode(src), [Candidate([], 0.0, False)], []
        for _ in range(length):
            tgt_in = torch.tensor([[BOS, *candidate.ids] for candidate in alive])
            rows = len(alive)
            shared = memory.expand(rows, -1, -1), src.expand(rows, -1)
            logits = self.model.decode(tgt_in, *shared)[:, -1]
            logits[:, [PAD, BOS]] = -math.inf
            longer = []
            for candidate, row in zip(alive, logits.log_softmax(dim=-1).tolist(), strict=True):
                for token in range(TGT_TYPES):
                    total, ends = candidate.log_prob + row[token], token == EOS
                    ids = candidate.ids if ends else [*candidate.ids, token]
                    longer.append(Candidate(ids, total, ends))
            longer.sort(key=lambda candidate: candidate.log_prob, reverse=True)
            best = longer[: 2 * size]
            done += [candidate for candidate in best[:size] if candidate.finished]
            alive = [candidate for candidate in best if not candidate.finished][:size]
            if len(done) >= size:
                break
        done = sorted(done, key=self.order, reverse=True)
        return [*done, *sorted(alive, key=self.order, reverse=True)][:size]

    def order(self, candidate):
        """Return what candidates are ordered by."""
        return self.rank(candidate.log_prob, len(candidate.ids) + candidate.finished)

    def rank(self, log_prob, length):
        """Divide by the length penalty (§6.1)."""
        return log_prob / ((5 + length) / 6) ** 0.6


def make_model():
    """Return the model alone."""
    torch.manual_seed(0)
    return RelativeTransformer()


def make_adapter(model=None):
    """Return the model with all that trains it and searches."""
    setup = TrainingAndSearch(model or make_model())
    model = setup.model
    return Adapter(
        forward=model,
        module=model,
        src_vocab_size=SRC_TYPES,
        tgt_vocab_size=TGT_TYPES,
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        encode=model.encode,
        decode=model.decode,
        greedy=setup.greedy,
        beam=setup.beam,
        candidate_score=setup.rank,
        alpha=0.6,
        loss=setup.loss,
        label_smoothing=SMOOTHING,
        optimizer=setup.optimizer,
        optimizer_settings={"betas": (0.9, 0.98), "eps": 1e-9},
        max_gradient_norm=CLIP,
        stateful=(setup,),
        train_step=setup.train_step,
        schedule=setup.rate,
        warmup_steps=WARMUP,
        d_model=WIDTH,
        relative_max_distance=FARTHEST,
        norm_epsilon=1e-5,
        dropout=DROPOUT,
        attention_dropout=DROPOUT,
        make_batch=setup.make_batch,
        untrained=True,
    )
