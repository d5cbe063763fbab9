"""Configurations: frozen dataclasses, checked when made (no torch in here).

A `Recipe` is everything that makes a model: its data, its network, its training.
The named recipes are in `transformer/recipes/named.py`.
"""

import dataclasses
import typing
from enum import StrEnum
from typing import Any, Self

from transformer.support.errors import UserError, unknown_name
from transformer.support.settings import (
    MOST,
    names_of_today,
    parse,
    require,
    require_fraction,
    require_number,
    require_positive,
    settle_types,
)

SPECIAL_TOKENS = ("<pad>", "<unk>", "<bos>", "<eos>")
PAD_ID, UNK_ID, BOS_ID, EOS_ID = range(4)
FIRST_ID = len(SPECIAL_TOKENS)  # of the types that stand for text
BEAM_SIZE = 4  # §6.1: of the search
LENGTH_PENALTY = 0.6  # §6.1: alpha
# What no machine could use, so that a slip of the finger is refused before the work.
MOST_WIDTH = 2**16
MOST_LAYERS = 1000
MOST_LENGTH = 2**20
MOST_TYPES = 10**7
MOST_BEAM_SIZE = 1000
MOST_ALPHA = 10  # more says nothing more, and soon is no number


class Positions(StrEnum):
    """How a token learns where it stands."""

    SINUSOIDAL = "sinusoidal"  # §3.5: added, computed
    LEARNED = "learned"  # Table 3, row E: added, learned
    CONCATENATED = "concatenated"  # not in the paper: beside the word, learned


class TokenizerKind(StrEnum):
    """What a token is."""

    WORDS = "words"  # spaCy's tokens above a frequency cut
    BPE = "bpe"  # §5.1: byte-pair encoding


class Decay(StrEnum):
    """How the learning rate falls after its warm-up."""

    INVERSE_SQRT = "inverse_sqrt"  # §5.3: with the inverse square root of the step
    LINEAR = "linear"  # not in the paper: in a straight line, to 0 at the last step


class Optimizer(StrEnum):
    """What turns gradients into updates."""

    ADAM = "adam"  # §5.3
    MUON = "muon"  # not in the paper: on hidden matrices, Adam on all else


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of the network (§3, Table 3); the defaults are the base model's.

    Attributes:
        d_model: Width of every layer's output.
        d_ff: Inner width of the feed-forward layers.
        num_heads: Heads of every attention, h in the paper.
        num_layers: Layers of each stack, N in the paper.
        d_k: Width of a head's queries and keys; None means d_model / num_heads.
        d_v: Width of a head's values; None means d_model / num_heads.
        dropout: On each sub-layer's output and on the embeddings (§5.4).
        attention_dropout: On the attention weights; not in the paper's text.
        feed_forward_dropout: On the inner activations; not in the paper's text.
        pre_norm: Normalise before each sub-layer, and once after each stack,
            instead of after each residual sum (§3.1).
        positions: How positions enter (§3.5).
        position_dim: Width of concatenated positions, taken from d_model.
        max_len: Most tokens of a sentence; fixes the size of learned positions.
        tie_source_target: One embedding for both languages (§3.4); needs one vocabulary.
        tie_softmax: The softmax reuses the target embedding (§3.4).
        attention_bias: Biases in the attention's four projections; the paper has none.
        output_bias: A bias before the softmax; the paper has none.
        xavier_embeddings: Draw embeddings as matrices are drawn, much smaller (see
            `model.Transformer`).
    """

    d_model: int = 512
    d_ff: int = 2048
    num_heads: int = 8
    num_layers: int = 6
    d_k: int | None = None
    d_v: int | None = None
    dropout: float = 0.1
    attention_dropout: float = 0.0
    feed_forward_dropout: float = 0.0
    pre_norm: bool = False
    positions: Positions = Positions.SINUSOIDAL
    position_dim: int = 20
    max_len: int = 256
    tie_source_target: bool = True
    tie_softmax: bool = True
    attention_bias: bool = False
    output_bias: bool = False
    xavier_embeddings: bool = False

    def __post_init__(self) -> None:
        settle_types(self)
        require_positive(self, "d_model", "d_ff", "num_heads", "d_k", "d_v", most=MOST_WIDTH)
        require_positive(self, "num_layers", most=MOST_LAYERS)
        require_positive(self, "max_len", most=MOST_LENGTH)
        require_fraction(self, "dropout", "attention_dropout", "feed_forward_dropout")
        for name in ("d_k", "d_v"):
            require(
                getattr(self, name) is not None or self.d_model % self.num_heads == 0,
                f"d_model {self.d_model} is not divisible by num_heads {self.num_heads}: "
                f"choose a divisor of {self.d_model}, or give d_k and d_v",
            )
        if self.positions == Positions.SINUSOIDAL:
            message = f"d_model {self.d_model} is odd: sinusoids come in pairs, give an even number"
            require(self.d_model % 2 == 0, message)
        if self.positions == Positions.CONCATENATED:
            require(
                1 <= self.position_dim < self.d_model,
                f"position_dim {self.position_dim} leaves no room for the word in "
                f"d_model {self.d_model}: give 1 to {self.d_model - 1}",
            )
            require(
                not self.tie_softmax,
                "tie_softmax needs embeddings of width d_model, and concatenated positions "
                "narrow them: set tie_softmax=false",
            )
        else:
            require(
                self.position_dim == type(self).position_dim,
                f"position_dim {self.position_dim} has no effect on {self.positions} positions: "
                "leave it out, or set positions=concatenated",
            )

    @property
    def key_size(self) -> int:
        """Width of one head's queries and keys, d_k in the paper."""
        return self.d_model // self.num_heads if self.d_k is None else self.d_k

    @property
    def value_size(self) -> int:
        """Width of one head's values, d_v in the paper."""
        return self.d_model // self.num_heads if self.d_v is None else self.d_v


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """The shape of an LSTM encoder-decoder: what the paper replaces (§1, §2), not in it.

    Attributes:
        embedding_size: Width of a token's vector, on either side.
        hidden_size: Width of the decoder's state, and of the encoder's in each direction.
        attention: Read the source in both directions, and look back at all of it from every
            step; else one state carries the whole sentence.
        dropout: On the embeddings.
        max_len: Most tokens of a sentence.
    """

    embedding_size: int = 100
    hidden_size: int = 100
    attention: bool = True
    dropout: float = 0.0
    max_len: int = 256

    def __post_init__(self) -> None:
        settle_types(self)
        require_positive(self, "embedding_size", "hidden_size", most=MOST_WIDTH)
        require_positive(self, "max_len", most=MOST_LENGTH)
        require_fraction(self, "dropout")

    @property
    def d_model(self) -> int:
        """Width for the learning rate's schedule."""
        return self.hidden_size


# What recipe.json calls the kinds of network.
NETWORKS: dict[str, type[ModelConfig | RecurrentConfig]] = {
    "transformer": ModelConfig,
    "lstm": RecurrentConfig,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The text and its tokens (§5.1).

    Attributes:
        corpus: Name in the registry of `transformer.data.corpora`.
        src_lang, tgt_lang: Language codes: "de", "en", "fr"; or "tree", a tree of phrases.
        tokenizer: Words or byte-pair encoding.
        joint_vocabulary: One vocabulary for both languages.
        vocab_size: Most types of a vocabulary, the four special ones included.
        src_vocab_size: Of the source's own vocabulary; None means `vocab_size`.
        min_frequency: Fewest times a type must be seen in training to have an id.
        lowercase: Whether text is lower-cased first.
        max_train_tokens: Longer training sentences (in tokens, either side) are left out.
    """

    corpus: str
    src_lang: str
    tgt_lang: str
    tokenizer: TokenizerKind = TokenizerKind.BPE
    joint_vocabulary: bool = True
    vocab_size: int = 8000
    src_vocab_size: int | None = None
    min_frequency: int = 2
    lowercase: bool = False
    max_train_tokens: int = 100

    def __post_init__(self) -> None:
        settle_types(self)
        require_positive(self, "min_frequency", "max_train_tokens")
        message = f"src_lang and tgt_lang are both {self.src_lang!r}: give two languages"
        require(self.src_lang != self.tgt_lang, message)
        require(
            self.src_vocab_size is None or not self.joint_vocabulary,
            "src_vocab_size has no effect on one vocabulary: set joint_vocabulary=false",
        )
        smallest = 4 + 256 if self.tokenizer == TokenizerKind.BPE else 5
        for name in ("vocab_size", "src_vocab_size"):
            size = getattr(self, name)
            require(
                size is None or size >= smallest,
                f"{name} {size} is too small: {self.tokenizer} needs at least "
                f"{smallest} (4 special types and {'the 256 bytes' if smallest > 5 else 'a word'})",
            )
        require_positive(self, "vocab_size", "src_vocab_size", most=MOST_TYPES)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How the weights are found (§5).

    Attributes:
        steps: Updates of the weights.
        batch_tokens: Most tokens on either side of a batch, padding included.
        batch_sentences: Most sentence pairs of a batch; None: its tokens alone bound it.
        accumulate: Batches whose gradients are summed into one step.
        learning_rate: A fixed rate; None, the paper's, means the schedule.
        learning_rate_factor: Multiplies the whole schedule; 1 is the paper's.
        warmup_steps: Steps of rising rate.
        decay: How the rate falls afterwards. With the paper's, more steps can be added to a run
            later; a straight line to 0 is drawn for so many steps and no other number.
        optimizer: Adam, the paper's, or Muon (see `training.optimizers`).
        muon_rate_factor: Muon's learning rate as a multiple of Adam's.
        cooccurrence_start: Begin with counts of which types occur together (see
            `training.cooccurrence`); else, as the paper, with random weights.
        beta1, beta2, epsilon: Adam's (§5.3).
        weight_decay: Decoupled (AdamW); 0, the paper's, makes it plain Adam.
        label_smoothing: Probability moved away from the true type (§5.4).
        smooth_over_all: Spread that mass over every type; else over all but the
            true one and padding.
        clip_norm: Largest norm of the gradient; 0 means no limit.
        bf16: Autocast matrix products to bfloat16, where that is faster than float32.
        report_every: Steps between lines of progress.
        validate_every: Steps between validations, each followed by a checkpoint.
        patience: Validations without a better loss before stopping; 0 means never.
        average_last: Checkpoints averaged into the final model (§6.1), where that has the lower
            validation loss; 1 means none.
        seed: Of weights, dropout and the order of batches; not negative, below 2**63.
    """

    steps: int = 100_000
    batch_tokens: int = 25_000
    batch_sentences: int | None = None
    accumulate: int = 1
    learning_rate: float | None = None
    learning_rate_factor: float = 1.0
    warmup_steps: int = 4000
    decay: Decay = Decay.INVERSE_SQRT
    optimizer: Optimizer = Optimizer.ADAM
    muon_rate_factor: float = 1.0
    cooccurrence_start: bool = False
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-9
    weight_decay: float = 0.0
    label_smoothing: float = 0.1
    smooth_over_all: bool = True
    clip_norm: float = 0.0
    bf16: bool = False
    report_every: int = 100
    validate_every: int = 1000
    patience: int = 0
    average_last: int = 5
    seed: int = 1

    def __post_init__(self) -> None:
        settle_types(self)
        counts = ("steps", "batch_tokens", "batch_sentences", "accumulate", "warmup_steps")
        intervals = ("report_every", "validate_every", "average_last")
        require_positive(self, *counts, *intervals)
        require_fraction(self, "label_smoothing", "beta1", "beta2")
        require_number(self, "learning_rate", "learning_rate_factor", "muon_rate_factor", "epsilon")
        require_number(self, "weight_decay", "clip_norm", "patience", zero=True)
        if self.muon_rate_factor != 1.0:
            message = "muon_rate_factor has no effect on adam: leave it out, or set optimizer=muon"
            require(self.optimizer == Optimizer.MUON, message)
        if self.decay == Decay.LINEAR:
            message = f"learning_rate {self.learning_rate}: give it or decay=linear, not both"
            require(self.learning_rate is None, message)
            require(
                self.warmup_steps < self.steps,
                f"warmup_steps {self.warmup_steps} leave no step to decay: give under {self.steps}",
            )
        require(self.patience <= MOST, f"patience is {self.patience}: give {MOST:,} or less")
        message = f"seed is {self.seed}: give a number from 0 up to, not including, 2**63"
        require(0 <= self.seed < 2**63, message)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """A model from its data to its last step, under one name.

    Attributes:
        name: What to call it by.
        about: What it is, in a line.
        data, model, training: The settings.
        differs: For a recipe after somebody else's system: what is not as it was there.
    """

    name: str
    about: str
    data: DataConfig
    model: ModelConfig | RecurrentConfig
    training: TrainingConfig
    differs: str = ""

    def __post_init__(self) -> None:
        tied = isinstance(self.model, ModelConfig) and self.model.tie_source_target
        require(
            self.data.joint_vocabulary or not tied,
            "tie_source_target needs one vocabulary: set joint_vocabulary=true, "
            "or tie_source_target=false",
        )
        longest = self.data.max_train_tokens + 1
        require(
            longest <= self.model.max_len,
            f"max_train_tokens {longest - 1} and an end mark are more than max_len "
            f"{self.model.max_len}: make max_train_tokens smaller, or max_len larger",
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON; `from_dict` reads them back."""
        return dataclasses.asdict(self) | {"network": self.network}

    @property
    def network(self) -> str:
        """The kind of network, by its name in `NETWORKS`."""
        return next(name for name, kind in NETWORKS.items() if isinstance(self.model, kind))

    def settings(self) -> dict[str, Any]:
        """Give all that makes a difference to a run: not the words about it."""
        values = self.to_dict()
        return {"recipe": self.name} | {key: values[key] for key in ("data", "model", "training")}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make a recipe from what `to_dict` gave; one that names no network is a Transformer's.

        Raises:
            UserError: a section or a key is missing or foreign, or a value is out of range.
        """
        try:
            kinds = _sections(NETWORKS[values.get("network", "transformer")])
            sections = {key: kind(**names_of_today(values[key])) for key, kind in kinds.items()}
            words = {key: values[key] for key in ("name", "about")}
            foreign = values.keys() - {*kinds, *words, "differs", "network"}
            require(not foreign, f"unknown section {min(foreign, default='')!r}: take it out")
            return cls(**words, **sections, differs=values.get("differs", ""))
        except (TypeError, KeyError, AttributeError) as error:
            raise UserError(f"not a recipe of this version: {error}") from error

    def override(self, settings: dict[str, Any]) -> Self:
        """Give a copy in which some keys of any section have other values.

        Args:
            settings: Key to value, as typed or of the field's own type, for example
                {"d_model": "128", "pre_norm": True}.

        Raises:
            UserError: the key is unknown (the nearest is named), or the value does not fit it.
        """
        kinds = _sections(type(self.model))
        hints = {name: typing.get_type_hints(kind) for name, kind in kinds.items()}
        changes: dict[str, dict[str, Any]] = {name: {} for name in kinds}
        for key, text in settings.items():
            section = next((name for name, keys in hints.items() if key in keys), None)
            if section is None:
                raise unknown_name("key", key, [key for keys in hints.values() for key in keys])
            changes[section][key] = parse(text, hints[section][key])
        changed = {
            section: dataclasses.replace(getattr(self, section), **values)
            for section, values in changes.items()
        }
        return dataclasses.replace(self, **changed)


def _sections(network: type[ModelConfig | RecurrentConfig]) -> dict[str, Any]:
    """Give the class of each section of a recipe for this kind of network."""
    return {"data": DataConfig, "model": network, "training": TrainingConfig}
