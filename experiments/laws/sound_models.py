"""The sound models that mutants are made of, each with changes of weights that leave it as sound.

Not in the paper. After a change of its weights a model computes something else, and is as likely
to have been drawn: a mutant that amounts to one is no fault.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import torch


def run_as_module(text: str) -> ModuleType:
    """Run a file's text as a module of its own."""
    module = ModuleType("mutant")
    exec(compile(text, "mutant.py", "exec"), module.__dict__)
    return module


NamedWeights = dict[str, torch.Tensor]
WeightChange = Callable[[NamedWeights], NamedWeights]


def _make_undoing_weight_negation(pattern: str) -> WeightChange:
    return lambda weights: {n: -w if re.search(pattern, n) else w for n, w in weights.items()}


def _weights_with_key_value_exchanged(weights: NamedWeights) -> NamedWeights:
    other = {"key": "value", "value": "key"}
    return {re.sub("key|value", lambda m: other[m[0]], n): w for n, w in weights.items()}


def _weights_with_rotary_halves_exchanged(weights: NamedWeights) -> NamedWeights:
    """Exchange the halves of each head of 8: rotary positions then turn the other way."""
    return {
        n: w.unflatten(0, (-1, 2, 4)).flip(1).flatten(0, 2)
        if re.search(r"(self_attn|\d\.attn)\.[qk]_proj", n)
        else w
        for n, w in weights.items()
    }


def _weights_with_cross_key_value_exchanged(weights: NamedWeights) -> NamedWeights:
    other = {"k_proj": "v_proj", "v_proj": "k_proj"}
    return {
        re.sub("[kv]_proj", lambda m: other[m[0]], n) if "cross_attn" in n else n: w
        for n, w in weights.items()
    }


def _weights_with_distance_rows_reversed(weights: NamedWeights) -> NamedWeights:
    """Put row -r, counted from the end, in the place of row r of biases of distances."""
    return {
        n: w.roll(-1, 0).flip(0) if n in ("enc_bias", "dec_bias") else w for n, w in weights.items()
    }


def _weights_with_rows_of_distance_zero_exchanged(weights: NamedWeights) -> NamedWeights:
    """Exchange the rows of distance 0 among the words before and among those after, in 8 rows."""
    rows = torch.tensor([4, 1, 2, 3, 0, 5, 6, 7])
    return {n: w[rows] if n == "enc_bias" else w for n, w in weights.items()}


def _make_turning_rotary_weights_back(pattern: str) -> WeightChange:
    """Return a change that turns heads of 8 back by the angles of one position."""
    angles = 10000.0 ** (-torch.arange(0, 8, 2, dtype=torch.float64) / 8)
    cos, sin = angles.cos()[None, :, None], angles.sin()[None, :, None]

    def turn_back(weight: torch.Tensor) -> torch.Tensor:
        one, other = weight.unflatten(0, (-1, 2, 4)).unbind(1)
        return torch.stack((one * cos + other * sin, other * cos - one * sin), 1).flatten(0, 2)

    return lambda weights: {
        n: turn_back(w) if re.search(pattern, n) else w for n, w in weights.items()
    }


@dataclass(frozen=True)
class SoundModel:
    """A file whose classes are mutated, and changes of its weights that mutants may amount to.

    Attributes:
        file: The source.
        weight_changes: Changes after which fresh weights are as likely and Adam's steps the same.
        rotations: Changes after which fresh weights are as likely, drawn as they are from a normal
            distribution, and Adam's steps differ, since it counts by components.
    """

    file: Path
    weight_changes: Mapping[str, WeightChange]
    rotations: Mapping[str, WeightChange] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Source of the file."""
        return self.file.read_text(encoding="utf-8")


# The last projections of the sub-layers of the paper's model.
SUBLAYER_OUTPUT_WEIGHT_PATTERN = r"(attention|cross)\.output|feed_forward\.second"
# The same of the modern one, each of which is added in a line of its own.
MODERN_SUBLAYER_OUTPUT_WEIGHTS = (
    "encoder.*attn.o_proj",
    "encoder.*mlp.down",
    "self_attn.o_proj",
    "cross_attn.o_proj",
    "decoder.*mlp.down",
)
FOLDER = Path(__file__).parent
SOUND_MODELS = {
    "paper": SoundModel(
        FOLDER / "sound_model.py",
        {
            "keys and values exchanged": _weights_with_key_value_exchanged,
            "sub-layers negated": _make_undoing_weight_negation(SUBLAYER_OUTPUT_WEIGHT_PATTERN),
            "layers read and give the negative": _make_undoing_weight_negation(
                rf"{SUBLAYER_OUTPUT_WEIGHT_PATTERN}|words|norm\.bias"
                r"|(query|key|value|first|^output)\.weight"
            ),
        },
    ),
    "modern": SoundModel(
        FOLDER / "modern_model.py",
        {
            "halves of rotary queries and keys exchanged": _weights_with_rotary_halves_exchanged,
            "keys and values across exchanged": _weights_with_cross_key_value_exchanged,
            **{
                f"{pattern} negated": _make_undoing_weight_negation(pattern)
                for pattern in MODERN_SUBLAYER_OUTPUT_WEIGHTS
            },
        },
        {
            f"{name} of the encoder turned by one position": _make_turning_rotary_weights_back(
                rf"encoder.*attn.{name[0]}_proj"
            )
            for name in ("queries", "keys")
        },
    ),
    "functional": SoundModel(
        FOLDER / "functional_model.py",
        {
            "sub-layers negated": _make_undoing_weight_negation(r"(self|cross|ffn)\.out|out_bias"),
            "biases of distances negated": _make_undoing_weight_negation("(enc|dec)_bias"),
            "rows of distances reversed": _weights_with_distance_rows_reversed,
            "rows of distance 0 exchanged": _weights_with_rows_of_distance_zero_exchanged,
        },
    ),
}
