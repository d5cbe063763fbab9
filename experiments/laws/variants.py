"""Ten sound variants of the sound model: no law is to break on them (not in the paper)."""

# mypy: ignore-errors

from collections.abc import Callable
from types import ModuleType

import torch
from torch import nn

from attention_laws import diagnose
from experiments.laws.mutants import FILE, run

Change = Callable[[ModuleType], None]


def pre_norm(code: ModuleType) -> None:
    """Normalise what a sub-layer reads, and each stack's output."""

    class Residual(code.Residual):
        def forward(self, hidden, sublayer):
            return hidden + self.dropout(sublayer(self.norm(hidden)))

    class Model(code.Model):
        def __init__(self):
            super().__init__()
            self.memory_norm = nn.LayerNorm(code.D_MODEL)
            self.output = nn.Sequential(nn.LayerNorm(code.D_MODEL), self.output)

        def encode(self, src):
            return self.memory_norm(super().encode(src))

    code.Residual, code.Model = Residual, Model


def tied(code: ModuleType) -> None:
    """Let the output layer be the target's embedding."""

    class Model(code.Model):
        def __init__(self):
            super().__init__()
            self.output.weight = self.tgt.words.weight

    code.Model = Model


def no_bias(code: ModuleType) -> None:
    """Leave all biases out."""
    code.nn = _with(code, Linear=lambda *sizes: nn.Linear(*sizes, bias=False))


def rms_norm(code: ModuleType) -> None:
    """Divide by the root of the mean square."""
    code.nn = _with(code, LayerNorm=nn.RMSNorm)


def rotary(code: ModuleType) -> None:
    """Turn queries and keys of self-attention by their places."""

    def turned(hidden, places):
        half = hidden.shape[-1] // 2
        angles = places[:, None] / 10000 ** (torch.arange(half, dtype=hidden.dtype) / half)
        one, other = hidden[..., :half], hidden[..., half:]
        cos, sin = angles.cos(), angles.sin()
        return torch.cat((one * cos - other * sin, one * sin + other * cos), dim=-1)

    def scores(plain, query, key):
        q_len, k_len = query.shape[-2], key.shape[-2]
        return plain(
            turned(query, torch.arange(k_len - q_len, k_len)), turned(key, torch.arange(k_len))
        )

    _self_scores(code, scores)
    _without_waves(code)


def alibi(code: ModuleType) -> None:
    """Lower the scores of self-attention with the distance."""

    def scores(plain, query, key):
        q_len, k_len = query.shape[-2], key.shape[-2]
        distance = torch.arange(k_len - q_len, k_len)[:, None] - torch.arange(k_len)
        slopes = 2.0 ** -torch.arange(1, code.HEADS + 1)[:, None, None]
        return plain(query, key) - slopes * distance.where(distance > 0, -2 * distance)

    _self_scores(code, scores)
    _without_waves(code)


def learned_positions(code: ModuleType) -> None:
    """Learn a vector for each place."""

    class Embedding(code.Embedding):
        def __init__(self, types):
            super().__init__(types)
            del self.waves
            self.places = nn.Embedding(64, code.D_MODEL)
            nn.init.normal_(self.places.weight, std=0.5)

        @property
        def waves(self):
            return self.places(torch.arange(64))

    code.Embedding = Embedding


def grouped_queries(code: ModuleType) -> None:
    """Let two heads share their keys and values."""

    class Attention(code.Attention):
        def __init__(self):
            super().__init__()
            self.key = nn.Linear(code.D_MODEL, code.D_MODEL // 2)
            self.value = nn.Linear(code.D_MODEL, code.D_MODEL // 2)

        def keys(self, hidden):
            shape = (*hidden.shape[:2], code.HEADS // 2, -1)
            pair = (each(hidden).view(shape).transpose(1, 2) for each in (self.key, self.value))
            return [each.repeat_interleave(2, dim=1) for each in pair]

    code.Attention = Attention


def two_vocabularies(code: ModuleType) -> None:
    """Let the sides have vocabularies of very unlike sizes."""
    code.SRC_TYPES, code.TGT_TYPES = 101, 17


def shared_vocabulary(code: ModuleType) -> None:
    """Let both sides and the output layer have one matrix."""
    tied(code)
    code.SRC_TYPES = code.TGT_TYPES

    class Model(code.Model):
        def __init__(self):
            super().__init__()
            self.src.words = self.tgt.words

    code.Model = Model


VARIANTS: tuple[Change, ...] = (
    *(pre_norm, tied, no_bias, rms_norm, rotary, alibi, learned_positions, grouped_queries),
    *(two_vocabularies, shared_vocabulary),
)


def _with(code: ModuleType, **layers) -> ModuleType:
    """Give torch.nn with some layers others."""
    changed = ModuleType("nn")
    changed.__dict__.update({**vars(nn), **layers})
    return changed


def _self_scores(code: ModuleType, scores) -> None:
    """Let self-attention have other scores than cross-attention."""
    plain = code.Attention

    class Attention(plain):
        def scores(self, query, key):
            return scores(super().scores, query, key)

    class DecoderLayer(code.DecoderLayer):
        def __init__(self):
            super().__init__()
            self.cross = plain()

    code.Attention, code.DecoderLayer = Attention, DecoderLayer


def _without_waves(code: ModuleType) -> None:
    class Embedding(code.Embedding):
        def __init__(self, types):
            super().__init__(types)
            self.waves *= 0

    code.Embedding = Embedding


def alarms(seeds: int) -> dict[str, list[str]]:
    """Try the laws on every variant, with the whole adapter and alone, from so many seeds each.

    Returns:
        The laws that were called broken, or that could not be judged, by run.
    """
    found = {}
    text = FILE.read_text(encoding="utf-8")
    for change in VARIANTS:
        for seed in range(seeds):
            code = run(text.replace("manual_seed(0)", f"manual_seed({seed})"))
            change(code)
            for kind, given in (("whole", code.whole()), ("alone", code.bare())):
                report = diagnose(given)
                bad = report.broken or (["not judged"] if report.exit_status else [])
                found[f"{change.__name__} {seed} {kind}"] = bad
                print(f"{change.__name__} {seed} {kind}: {', '.join(bad) or 'no law broken'}")
    return found
