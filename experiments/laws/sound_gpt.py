"""A sound decoder-only model of torch alone, in one file as many write it: this file is mutated.

Not in the paper: a small GPT (Radford et al. 2019), with learned positions, norms before each
sub-layer and output weights that are the embeddings. Nothing of the course is in it.
"""

# mypy: ignore-errors

import math

import torch
from torch import nn
from torch.nn import functional as F

VOCAB, BLOCK, D_MODEL, HEADS, LAYERS, DROPOUT = 31, 48, 32, 4, 2, 0.1
IGNORED = -1  # the target of a position that is not to be learned


class CausalSelfAttention(nn.Module):
    """Attention to a token and all before it."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(D_MODEL, 3 * D_MODEL)
        self.output = nn.Linear(D_MODEL, D_MODEL)
        self.dropout = nn.Dropout(DROPOUT)
        self.register_buffer("may", torch.ones(BLOCK, BLOCK).tril().bool())

    def forward(self, x):
        """Return (batch, length, d_model) for the same."""
        batch, length, width = x.shape
        query, key, value = self.qkv(x).split(D_MODEL, dim=2)
        query = query.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
        key = key.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
        value = value.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
        scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
        scores = scores.masked_fill(~self.may[:length, :length], -torch.inf)
        weights = self.dropout(F.softmax(scores, dim=-1))
        mixed = (weights @ value).transpose(1, 2).reshape(batch, length, width)
        return self.output(mixed)


class FeedForward(nn.Module):
    """Two maps with a GELU between."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(D_MODEL, 4 * D_MODEL)
        self.second = nn.Linear(4 * D_MODEL, D_MODEL)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x):
        """Return the sub-layer's output."""
        return self.dropout(self.second(F.gelu(self.first(x))))


class Block(nn.Module):
    """Attention and a feed-forward network, each on a normalized input, each added."""

    def __init__(self):
        super().__init__()
        self.norm_1 = nn.LayerNorm(D_MODEL)
        self.attention = CausalSelfAttention()
        self.norm_2 = nn.LayerNorm(D_MODEL)
        self.feed_forward = FeedForward()

    def forward(self, x):
        """Return the layer's output."""
        x = x + self.attention(self.norm_1(x))
        return x + self.feed_forward(self.norm_2(x))


class GPT(nn.Module):
    """The whole; its `forward` is called with targets in training alone."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCAB, D_MODEL)
        self.positions = nn.Embedding(BLOCK, D_MODEL)
        self.dropout = nn.Dropout(DROPOUT)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(D_MODEL)
        self.head = nn.Linear(D_MODEL, VOCAB, bias=False)
        self.apply(self.initialize)
        self.head.weight = self.words.weight

    def initialize(self, part):
        """Draw the weights of maps and embeddings."""
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, std=0.02)
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)

    def forward(self, idx, targets=None):
        """Return logits and the loss; without targets the logits of the last position alone."""
        length = idx.shape[1]
        x = self.dropout(self.words(idx) + self.positions(torch.arange(length)))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        if targets is None:
            return self.head(x[:, -1:]), None
        logits = self.head(x)
        loss = F.cross_entropy(logits.view(-1, VOCAB), targets.reshape(-1), ignore_index=IGNORED)
        return logits, loss


def make():
    """Return the model with fixed weights."""
    torch.manual_seed(0)
    return GPT()
