"""A sound encoder-decoder as they are written since 2020: this file is mutated.

A root mean square norm before each sub-layer, rotary positions, grouped queries, gated feed-forward
networks, torch's fused attention, and one matrix for words and logits. Nothing of the course is in
it, as in anybody's folder.
"""

# mypy: ignore-errors

import math

import torch
import torch.nn.functional as F
from torch import nn

from attention_laws import Adapter, CachedDecoder, Candidate

PAD, BOS, EOS = 1, 0, 2
TYPES = 29
D_MODEL, D_FF, HEADS, KV_HEADS, HEAD_DIM, LAYERS, DROPOUT = 32, 48, 4, 2, 8, 2, 0.1
WARMUP, STEPS, PEAK_RATE, SMOOTHING = 20, 200, 3e-3, 0.1


class RMSNorm(nn.Module):
    """Divide by the root mean square, without a shift."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(D_MODEL))

    def forward(self, x):
        """Return x at unit size, times the weight."""
        size = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
        return x / size * self.weight


class Rotary(nn.Module):
    """Turn the halves of each head by the angles of its position."""

    def __init__(self):
        super().__init__()
        frequencies = 10000.0 ** (-torch.arange(0, HEAD_DIM, 2) / HEAD_DIM)
        angles = torch.outer(torch.arange(64), frequencies)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, start=0):
        """Return (batch, heads, length, head_dim) of which the first is at position `start`."""
        end = start + x.shape[2]
        cos, sin = self.cos[start:end], self.sin[start:end]
        one, other = x.chunk(2, dim=-1)
        return torch.cat((one * cos - other * sin, other * cos + one * sin), dim=-1)


class Attention(nn.Module):
    """Grouped-query attention; across sentences without positions."""

    def __init__(self, rotary):
        super().__init__()
        self.q_proj = nn.Linear(D_MODEL, HEADS * HEAD_DIM, bias=False)
        self.k_proj = nn.Linear(D_MODEL, KV_HEADS * HEAD_DIM, bias=False)
        self.v_proj = nn.Linear(D_MODEL, KV_HEADS * HEAD_DIM, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD_DIM, D_MODEL, bias=False)
        self.rotary = Rotary() if rotary else None

    def heads(self, x, number):
        """Return (batch, heads, length, head_dim)."""
        return x.unflatten(-1, (number, HEAD_DIM)).transpose(1, 2)

    def keys_and_values(self, context, start=0):
        """Return keys and values of what is attended to."""
        k = self.heads(self.k_proj(context), KV_HEADS)
        v = self.heads(self.v_proj(context), KV_HEADS)
        if self.rotary is not None:
            k = self.rotary(k, start)
        return k, v

    def forward(self, x, k, v, mask, start=0):
        """Attend; the mask is True where a query may."""
        q = self.heads(self.q_proj(x), HEADS)
        if self.rotary is not None:
            q = self.rotary(q, start)
        k = k.repeat_interleave(HEADS // KV_HEADS, dim=1)
        v = v.repeat_interleave(HEADS // KV_HEADS, dim=1)
        drop = DROPOUT if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=drop)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    """A feed-forward network with a gate."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(D_MODEL, D_FF, bias=False)
        self.up = nn.Linear(D_MODEL, D_FF, bias=False)
        self.down = nn.Linear(D_FF, D_MODEL, bias=False)

    def forward(self, x):
        """Return the sub-layer's output."""
        return self.down(F.silu(self.gate(x)) * self.up(x))


class EncoderBlock(nn.Module):
    """Self-attention and a feed-forward network, each behind a norm."""

    def __init__(self):
        super().__init__()
        self.attn_norm = RMSNorm()
        self.attn = Attention(rotary=True)
        self.mlp_norm = RMSNorm()
        self.mlp = SwiGLU()
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, x, mask):
        """Read the source."""
        h = self.attn_norm(x)
        k, v = self.attn.keys_and_values(h)
        x = x + self.drop(self.attn(h, k, v, mask))
        return x + self.drop(self.mlp(self.mlp_norm(x)))


class DecoderBlock(nn.Module):
    """Self-attention, cross-attention and a feed-forward network, each behind a norm."""

    def __init__(self):
        super().__init__()
        self.self_norm = RMSNorm()
        self.self_attn = Attention(rotary=True)
        self.cross_norm = RMSNorm()
        self.cross_attn = Attention(rotary=False)
        self.mlp_norm = RMSNorm()
        self.mlp = SwiGLU()
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, x, memory_kv, src_mask, past=None):
        """Read the target; return it with the keys and values of its tokens so far."""
        h = self.self_norm(x)
        start = 0 if past is None else past[0].shape[2]
        k, v = self.self_attn.keys_and_values(h, start)
        if past is not None:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        mask = torch.ones(x.shape[1], k.shape[2], dtype=torch.bool).tril(diagonal=start)
        x = x + self.drop(self.self_attn(h, k, v, mask, start))
        h = self.cross_norm(x)
        x = x + self.drop(self.cross_attn(h, memory_kv[0], memory_kv[1], src_mask))
        return x + self.drop(self.mlp(self.mlp_norm(x))), (k, v)


class Seq2Seq(nn.Module):
    """The whole; one matrix holds the words of both sides and of the output."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(TYPES, D_MODEL, padding_idx=PAD)
        self.encoder = nn.ModuleList(EncoderBlock() for _ in range(LAYERS))
        self.encoder_norm = RMSNorm()
        self.decoder = nn.ModuleList(DecoderBlock() for _ in range(LAYERS))
        self.decoder_norm = RMSNorm()
        self.head = nn.Linear(D_MODEL, TYPES, bias=False)
        self.head.weight = self.embed.weight
        self.drop = nn.Dropout(DROPOUT)
        self.apply(self.draw_weights)

    def draw_weights(self, part):
        """Draw matrices and words from a normal distribution."""
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, std=D_MODEL**-0.5)

    def mask_of(self, src):
        """Return (batch, 1, 1, src_len), True at words."""
        return (src != PAD)[:, None, None, :]

    def encode(self, src):
        """Return the memory."""
        x = self.drop(self.embed(src))
        mask = self.mask_of(src)
        for block in self.encoder:
            x = block(x, mask)
        return self.encoder_norm(x)

    def memory_kv(self, memory):
        """Return the memory's keys and values of each layer."""
        return [block.cross_attn.keys_and_values(memory) for block in self.decoder]

    def decode(self, tgt_in, memory_kv, src_mask, pasts=None):
        """Return logits, and the keys and values of each layer."""
        x = self.drop(self.embed(tgt_in))
        pasts = pasts or [None] * LAYERS
        news = []
        for block, kv, past in zip(self.decoder, memory_kv, pasts, strict=True):
            x, new = block(x, kv, src_mask, past)
            news.append(new)
        return self.head(self.decoder_norm(x)), news

    def forward(self, src, tgt_in):
        """Return logits (batch, tgt_len, types)."""
        return self.decode(tgt_in, self.memory_kv(self.encode(src)), self.mask_of(src))[0]


class TrainingAndSearch:
    """How a model is trained and searched."""

    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=PEAK_RATE, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.01
        )
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda done: self.rate(done + 1) / PEAK_RATE
        )

    def make_batch(self, sources, targets):
        """Return src, tgt_in and tgt_out, padded."""
        src = [torch.tensor([*source, EOS]) for source in sources]
        tgt = [torch.tensor([BOS, *target, EOS]) for target in targets]
        src = nn.utils.rnn.pad_sequence(src, batch_first=True, padding_value=PAD)
        tgt = nn.utils.rnn.pad_sequence(tgt, batch_first=True, padding_value=PAD)
        return src, tgt[:, :-1], tgt[:, 1:]

    def loss(self, logits, tgt_out):
        """Return the smoothed loss, nats per real token."""
        logits, tgt_out = logits.flatten(0, 1), tgt_out.flatten()
        return F.cross_entropy(logits, tgt_out, ignore_index=PAD, label_smoothing=SMOOTHING)

    def rate(self, step):
        """Return the learning rate of a step: up in a line, down in a half wave."""
        if step <= WARMUP:
            return PEAK_RATE * step / WARMUP
        progress = min(1.0, (step - WARMUP) / (STEPS - WARMUP))
        return PEAK_RATE * (0.1 + 0.9 * (1 + math.cos(math.pi * progress)) / 2)

    def train_step(self, src, tgt_in, tgt_out):
        """Make one update, and return its loss."""
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.model(src, tgt_in), tgt_out)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=1.0)
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    def start(self, src):
        """Encode, and begin with an empty cache."""
        return {
            "kv": self.model.memory_kv(self.model.encode(src)),
            "mask": self.model.mask_of(src),
            "pasts": None,
        }

    def step(self, tokens, cache):
        """Read the newest tokens."""
        logits, pasts = self.model.decode(tokens, cache["kv"], cache["mask"], cache["pasts"])
        return logits[:, -1], {**cache, "pasts": pasts}

    def reorder(self, cache, rows):
        """Return the cache of other rows."""

        def chosen(layers):
            return layers and [(k[rows], v[rows]) for k, v in layers]

        kv, pasts = chosen(cache["kv"]), chosen(cache["pasts"])
        return {"kv": kv, "mask": cache["mask"][rows], "pasts": pasts}

    def greedy(self, src, length):
        """Take the best token at each step."""
        return [candidates[0].ids for candidates in self.beam(src, 1, length)]

    @torch.no_grad()
    def beam(self, src, size, length):
        """Follow the best prefixes of all sources at once."""
        self.model.eval()
        batch = src.shape[0]
        cache = self.start(src)
        cache = self.reorder(cache, torch.arange(batch).repeat_interleave(size))
        sums = torch.full((batch, size), -torch.inf)
        sums[:, 0] = 0.0
        ids = torch.full((batch * size, 1), BOS)
        done = [[] for _ in range(batch)]
        for _ in range(length):
            logits, cache = self.step(ids[:, -1:], cache)
            logits[:, [PAD, BOS]] = -torch.inf
            log_probs = logits.log_softmax(dim=-1).view(batch, size, TYPES)
            totals, places = (sums[:, :, None] + log_probs).flatten(1).topk(2 * size)
            rows, tokens = [], []
            for number in range(batch):
                going = 0
                pairs = zip(totals[number].tolist(), places[number].tolist(), strict=True)
                for total, place in pairs:
                    row, token = number * size + place // TYPES, place % TYPES
                    if token == EOS:
                        if total > -math.inf and going < size and len(done[number]) < size:
                            done[number].append(Candidate(ids[row, 1:].tolist(), total, True))
                    elif going < size:
                        sums[number, going] = total if len(done[number]) < size else -math.inf
                        rows.append(row)
                        tokens.append(token)
                        going += 1
            cache = self.reorder(cache, torch.tensor(rows))
            ids = torch.cat((ids[rows], torch.tensor(tokens)[:, None]), dim=1)
            if all(len(candidates) >= size for candidates in done):
                break
        for number, candidates in enumerate(done):
            for row in range(size):
                total = float(sums[number, row])
                if len(candidates) < size and total > -math.inf:
                    prefix = ids[number * size + row, 1:].tolist()
                    candidates.append(Candidate(prefix, total, False))
        return [sorted(candidates, key=self.rank_of, reverse=True) for candidates in done]

    def rank_of(self, candidate):
        """Return what candidates are ordered by."""
        return self.rank(candidate.log_prob, len(candidate.ids) + candidate.finished)

    def rank(self, log_prob, length):
        """Divide by a power of the length, eos included."""
        return log_prob / length**0.6


def make_model():
    """Return the model alone."""
    torch.manual_seed(0)
    return Seq2Seq()


def make_adapter(model=None):
    """Return the model with all that trains it and searches."""
    setup = TrainingAndSearch(model or make_model())
    model = setup.model

    def decode(tgt_in, memory, src):
        return model.decode(tgt_in, model.memory_kv(memory), model.mask_of(src))[0]

    return Adapter(
        forward=model,
        module=model,
        src_vocab_size=TYPES,
        tgt_vocab_size=TYPES,
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        encode=model.encode,
        decode=decode,
        cached=CachedDecoder(start=setup.start, step=setup.step, reorder=setup.reorder),
        greedy=setup.greedy,
        beam=setup.beam,
        candidate_score=setup.rank,
        length_exponent=0.6,
        loss=setup.loss,
        label_smoothing=SMOOTHING,
        optimizer=setup.optimizer,
        optimizer_settings={"betas": (0.9, 0.98), "eps": 1e-9, "weight_decay": 0.01},
        max_gradient_norm=1.0,
        stateful=(setup.scheduler,),
        train_step=setup.train_step,
        schedule=setup.rate,
        warmup_steps=WARMUP,
        schedule_rates={WARMUP: PEAK_RATE, STEPS: 0.1 * PEAK_RATE},
        rotary_base=10000.0,
        norm_epsilon=1e-6,
        initial_std=D_MODEL**-0.5,
        dropout=DROPOUT,
        attention_dropout=DROPOUT,
        make_batch=setup.make_batch,
        declared_tied=(("embed.weight", "head.weight"),),
        untrained=True,
    )
