"""Small decoder-only models whose positions enter the scores in many ways, sound and not."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

D_MODEL, NUM_HEADS, D_K, VOCAB_SIZE, MAX_LEN = 24, 3, 8, 17, 40
ScoreFunction = Callable[["ScoredAttention", Tensor, Tensor], Tensor]


class ScoredAttention(nn.Module):
    """Causal self-attention whose scores, (batch, heads, length, length), a function computes."""

    def __init__(self, scores: ScoreFunction, convolves: bool = False) -> None:
        super().__init__()
        self.scores = scores
        self.qkv, self.out = nn.Linear(D_MODEL, 3 * D_MODEL), nn.Linear(D_MODEL, D_MODEL)
        self.gain = nn.Parameter(torch.ones(NUM_HEADS, 1, 1))
        self.places = nn.Parameter(torch.randn(MAX_LEN, NUM_HEADS, D_K))
        self.bias_map = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, NUM_HEADS))
        # Primer's: a causal convolution of three positions for each number of a head.
        self.convolution = (
            nn.Conv1d(3 * D_MODEL, 3 * D_MODEL, 3, groups=3 * D_MODEL) if convolves else None
        )

    def forward(self, hidden: Tensor) -> Tensor:
        mapped = self.qkv(hidden)
        if self.convolution is not None:
            mapped = self.convolution(nn.functional.pad(mapped.transpose(1, 2), (2, 0)))
            mapped = mapped.transpose(1, 2)
        heads = mapped.unflatten(-1, (3, NUM_HEADS, D_K)).permute(2, 0, 3, 1, 4)
        query, key, value = heads.unbind()
        scores = self.scores(self, query, key)
        may = torch.ones(scores.shape[-2:]).tril().bool()
        mixed = scores.masked_fill(~may, -torch.inf).softmax(dim=-1) @ value
        return self.out(mixed.transpose(1, 2).flatten(-2))


class ScoredModel(nn.Module):
    """A layer for each function of scores: attention and a norm before it, added to the words."""

    def __init__(self, *layers: ScoreFunction, convolves: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(VOCAB_SIZE, D_MODEL)
        self.layers = nn.ModuleList(ScoredAttention(scores, convolves) for scores in layers)
        self.norms = nn.ModuleList(nn.LayerNorm(D_MODEL) for _ in layers)
        self.output = nn.Linear(D_MODEL, VOCAB_SIZE)

    def forward(self, ids: Tensor) -> Tensor:
        hidden = self.words(ids)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            hidden = hidden + layer(norm(hidden))
        return self.output(hidden)


def no_positions(attention: ScoredAttention, query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1) / math.sqrt(D_K)


def rotated(vectors: Tensor, direction: float = 1.0) -> Tensor:
    angles = torch.arange(vectors.shape[-2])[:, None] / 10.0 ** torch.arange(D_K // 2)
    cos, sin = angles.cos(), direction * angles.sin()
    one, other = vectors.chunk(2, dim=-1)
    return torch.cat((one * cos - other * sin, one * sin + other * cos), dim=-1)


def rotary(attention: ScoredAttention, query: Tensor, key: Tensor) -> Tensor:
    return no_positions(attention, rotated(query), rotated(key))


def rotary_on_queries_alone(attention: ScoredAttention, query: Tensor, key: Tensor) -> Tensor:
    return no_positions(attention, rotated(query), key)


def rotary_with_a_wrong_sign(attention: ScoredAttention, query: Tensor, key: Tensor) -> Tensor:
    return no_positions(attention, rotated(query), rotated(key, -1.0))


def log_length(query: Tensor) -> Tensor:
    return (1 + torch.arange(1, query.shape[-2] + 1)).log()[:, None]


def ssmax(attention: ScoredAttention, query: Tensor, key: Tensor) -> Tensor:
    """Scores grow with the logarithm of the number of keys (Nakanishi 2025)."""
    return no_positions(attention, query, key) * attention.gain * log_length(query)


def ssmax_of_rotary_queries(attention: ScoredAttention, query: Tensor, key: Tensor) -> Tensor:
    return rotary(attention, query * attention.gain * log_length(query), key)


def distances(query: Tensor) -> Tensor:
    places = torch.arange(query.shape[-2])
    return places[:, None] - places


def fire(attention: ScoredAttention, query: Tensor, key: Tensor) -> Tensor:
    """A bias of the distance as a share of the query's position (Li et al. 2024)."""
    places = torch.arange(query.shape[-2]).clamp(min=3)[:, None]
    share = (1 + distances(query).clamp(min=0)).log() / (1 + places).log()
    return no_positions(attention, query, key) + attention.bias_map(share[..., None]).movedim(-1, 0)


def tupe(attention: ScoredAttention, query: Tensor, key: Tensor) -> Tensor:
    """Scores of positions, with maps of their own, are added to those of words (Ke et al. 2021)."""
    places = attention.places[: query.shape[-2]].transpose(0, 1).expand(query.shape)
    of_places = places @ places.transpose(-2, -1) / math.sqrt(D_K)
    return no_positions(attention, query, key) + of_places


def added_to_queries_and_keys(attention: ScoredAttention, query: Tensor, key: Tensor) -> Tensor:
    places = attention.places[: query.shape[-2]].transpose(0, 1)
    return no_positions(attention, query + places, key + places)


def bias_of_distances(attention: ScoredAttention, query: Tensor, key: Tensor) -> Tensor:
    bias = attention.bias_map(distances(query)[..., None] / 5.0).movedim(-1, 0)
    return no_positions(attention, query, key) + bias


def bias_of_sums(attention: ScoredAttention, query: Tensor, key: Tensor) -> Tensor:
    """The same with a plus between the positions."""
    places = torch.arange(query.shape[-2])
    sums = (places[:, None] + places)[..., None] / 5.0
    return no_positions(attention, query, key) + attention.bias_map(sums).movedim(-1, 0)
