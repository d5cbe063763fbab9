"""Configurations: frozen dataclasses, checked when made (no torch in here)."""

import dataclasses
from enum import StrEnum
from typing import Any, Self

from transformer.support.checks import check_fields
from transformer.support.errors import UserError, require, unknown_name

SPECIAL_TOKENS = ("<pad>", "<unk>", "<bos>", "<eos>")
PAD_ID, UNK_ID, BOS_ID, EOS_ID = range(4)
NUM_SPECIAL_TOKENS = len(SPECIAL_TOKENS)  # of the types that stand for text
BEAM_SIZE = 4  # §6.1: of the search
LENGTH_PENALTY = 0.6  # §6.1: alpha
MAX_DIMENSION = 2**16  # of a network; more is a slip of the finger, refused before the work


class Positions(StrEnum):
    """How a token learns where it stands."""

    SINUSOIDAL = "sinusoidal"  # §3.5: added, computed
    LEARNED = "learned"  # Table 3, row E: added, learned
    CONCATENATED = "concatenated"  # not in the paper: beside the word, learned


class TokenizerKind(StrEnum):
    """What a token is."""

    WORDS = "words"  # spaCy's tokens above a frequency cut
    BPE = "bpe"  # §5.1: byte-pair encoding


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of the network (§3, Table 3); the defaults are the base model's."""

    d_model: int = 512  # width of every layer's output
    d_ff: int = 2048  # inner width of the feed-forward layers
    num_heads: int = 8  # of every attention, h in the paper
    num_layers: int = 6  # of each stack, N in the paper
    d_k: int | None = None  # width of a head's queries and keys; None: d_model / num_heads
    d_v: int | None = None  # width of a head's values; None: d_model / num_heads
    dropout: float = 0.1  # on each sub-layer's output and on the embeddings (§5.4)
    attention_dropout: float = 0.0  # on the attention weights; not in the paper's text
    feed_forward_dropout: float = 0.0  # on the inner activations; not in the paper's text
    pre_norm: bool = False  # normalise before each sub-layer, and once after each stack,
    #                         instead of after each residual sum (§3.1)
    positions: Positions = Positions.SINUSOIDAL  # §3.5
    position_dim: int = 20  # width of concatenated positions, taken from d_model
    max_len: int = 256  # most tokens of a sentence; the size of learned positions
    tie_source_target: bool = True  # one embedding for both languages (§3.4)
    tie_softmax: bool = True  # the softmax reuses the target embedding (§3.4)
    attention_bias: bool = False  # in the attention's four projections; the paper has none
    output_bias: bool = False  # before the softmax; the paper has none
    xavier_embeddings: bool = False  # drawn as matrices are: much smaller (`model.Transformer`)

    def __post_init__(self) -> None:
        rates = ("dropout", "attention_dropout", "feed_forward_dropout")
        check_fields(self, max_number=MAX_DIMENSION, fractions=rates)
        width, concatenated = self.d_model, self.positions == Positions.CONCATENATED
        require(
            width % self.num_heads == 0 or None not in (self.d_k, self.d_v),
            f"d_model {width} is not divisible by num_heads {self.num_heads}: "
            f"choose a divisor of {width}, or give d_k and d_v",
        )
        odd = f"d_model {width} is odd: sinusoids come in pairs, give an even number"
        require(width % 2 == 0 or self.positions != Positions.SINUSOIDAL, odd)
        require(
            self.position_dim < width or not concatenated,
            f"position_dim {self.position_dim} leaves no room for the word in d_model {width}: "
            f"give 1 to {width - 1}",
        )
        require(
            not (concatenated and self.tie_softmax),
            "tie_softmax needs embeddings of width d_model, and concatenated positions narrow "
            "them: set tie_softmax=false",
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
    """The shape of an LSTM encoder-decoder: what the paper replaces (§1, §2), not in it."""

    embedding_size: int = 100  # width of a token's vector, on either side
    hidden_size: int = 100  # of the decoder's state, and of the encoder's in each direction
    attention: bool = True  # read the source in both directions, and look back at all of it
    #                         from every step; else one state carries the whole sentence
    dropout: float = 0.0  # on the embeddings
    max_len: int = 256  # most tokens of a sentence

    def __post_init__(self) -> None:
        check_fields(self, max_number=MAX_DIMENSION, fractions=("dropout",))

    @property
    def d_model(self) -> int:
        """Width for the learning rate's schedule."""
        return self.hidden_size


SECTIONS = ("data", "model", "training")  # of a recipe
NETWORKS = {"transformer": ModelConfig, "lstm": RecurrentConfig}  # as recipe.json calls them


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The text and its tokens (§5.1)."""

    corpus: str  # name in the registry of `transformer.data.corpora`
    src_lang: str  # "de", "en" or "fr"
    tgt_lang: str  # the same, or "tree": a tree of phrases
    tokenizer: TokenizerKind = TokenizerKind.BPE
    joint_vocabulary: bool = True  # one vocabulary for both languages
    vocab_size: int = 8000  # most types of a vocabulary, the four special ones included
    src_vocab_size: int | None = None  # of the source's own vocabulary; None: `vocab_size`
    min_frequency: int = 2  # fewest times a type must be seen in training to have an id
    lowercase: bool = False  # whether text is lower-cased first
    max_train_tokens: int = 100  # training pairs with a side longer than this are left out

    def __post_init__(self) -> None:
        check_fields(self)
        same = f"src_lang and tgt_lang are both {self.src_lang!r}: give two languages"
        require(self.src_lang != self.tgt_lang, same)
        unused = "src_vocab_size has no effect on one vocabulary: set joint_vocabulary=false"
        require(self.src_vocab_size is None or not self.joint_vocabulary, unused)
        # The special types, and every byte or at least a word.
        smallest = NUM_SPECIAL_TOKENS + (256 if self.tokenizer == TokenizerKind.BPE else 1)
        size = min(self.vocab_size, self.src_vocab_size or self.vocab_size)
        message = f"vocab_size {size} is too small: {self.tokenizer} needs at least {smallest}"
        require(size >= smallest, message)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How the weights are found (§5)."""

    steps: int = 100_000  # updates of the weights
    batch_tokens: int = 25_000  # most tokens on either side of a batch, padding included
    batch_sentences: int | None = None  # most pairs of a batch; None: its tokens alone bound it
    learning_rate: float | None = None  # a fixed rate; None, the paper's, means the schedule
    learning_rate_factor: float = 1.0  # multiplies the whole schedule; 1 is the paper's
    warmup_steps: int = 4000  # steps of rising rate
    beta2: float = 0.98  # Adam's (§5.3); beta1 is 0.9 everywhere
    epsilon: float = 1e-9  # Adam's
    label_smoothing: float = 0.1  # probability moved away from the true type (§5.4)
    clip_norm: float = 0.0  # largest norm of the gradient; 0 means no limit
    report_every: int = 100  # steps between lines of progress
    validate_every: int = 1000  # steps between validations, each followed by a checkpoint
    average_last: int = 5  # checkpoints averaged into the final model (§6.1), where that has the
    #                        lower validation loss; 1 means none
    seed: int = 1  # of weights, dropout and the order of batches

    def __post_init__(self) -> None:
        check_fields(
            self, fractions=("label_smoothing", "beta2"), may_be_zero=("clip_norm", "seed")
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """A model from its data to its last step, under one name."""

    name: str  # what to call it by
    about: str  # what it is, in a line
    data: DataConfig
    model: ModelConfig | RecurrentConfig
    training: TrainingConfig
    differs: str = ""  # of a recipe after somebody else's system: what is not as it was there

    def __post_init__(self) -> None:
        tied = isinstance(self.model, ModelConfig) and self.model.tie_source_target
        remedy = "set joint_vocabulary=true, or tie_source_target=false"
        one = f"tie_source_target needs one vocabulary: {remedy}"
        require(self.data.joint_vocabulary or not tied, one)
        longest = self.data.max_train_tokens + 1
        require(
            longest <= self.model.max_len,
            f"max_train_tokens {longest - 1} and an end mark are more than max_len "
            f"{self.model.max_len}: make max_train_tokens smaller, or max_len larger",
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON; `from_dict` reads them back."""
        network = next(name for name, kind in NETWORKS.items() if isinstance(self.model, kind))
        return dataclasses.asdict(self) | {"network": network}

    def settings(self) -> dict[str, Any]:
        """Give all that makes a difference to a run: not the words about it."""
        values = self.to_dict()
        return {"recipe": self.name} | {name: values[name] for name in SECTIONS}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make a recipe from what `to_dict` gave.

        Raises:
            UserError: a section or a key is missing or foreign, or a value is out of range.
        """
        try:
            kinds = (DataConfig, NETWORKS[values["network"]], TrainingConfig)
            words = {key: value for key, value in values.items() if key != "network"}
            made: dict[str, Any] = {s: k(**values[s]) for s, k in zip(SECTIONS, kinds, strict=True)}
            return cls(**words | made)
        except (TypeError, KeyError, AttributeError) as error:
            raise UserError(f"not a recipe of this version: {error}") from error

    def override(self, settings: dict[str, Any]) -> Self:
        """Give a copy with other values, typed or not: {"d_model": "128", "pre_norm": True}.

        Raises:
            UserError: the key is unknown (the nearest is named), or the value does not fit it.
        """
        sections, unknown = {name: getattr(self, name) for name in SECTIONS}, dict(settings)
        for name, section in sections.items():
            own = {key: unknown.pop(key) for key in settings.keys() & vars(section).keys()}
            sections[name] = dataclasses.replace(section, **own)
        for key in unknown:
            raise unknown_name("key", key, [k for part in sections.values() for k in vars(part)])
        return dataclasses.replace(self, **sections)
