"""Configurations: frozen dataclasses, checked when made (no torch in here)."""

import dataclasses
from enum import StrEnum
from typing import Any, Self, TypeVar

from transformer.support.checks import check_fields, check_number
from transformer.support.errors import UserError, short_repr, unknown_name_error
from transformer.support.signatures import check_type

ConfigT = TypeVar("ConfigT", bound="DataConfig | ModelConfig | RecurrentConfig | TrainingConfig")

SPECIAL_TOKENS = ("<pad>", "<unk>", "<bos>", "<eos>")
PAD_ID, UNK_ID, BOS_ID, EOS_ID = range(4)
NUM_SPECIAL_TOKENS = len(SPECIAL_TOKENS)  # the first id of a type that stands for text
BEAM_SIZE = 4  # §6.1
LENGTH_PENALTY = 0.6  # §6.1: alpha
MAX_NUM_LAYERS = 1024  # of a stack; more would take minutes to make
MAX_DIMENSION = 2**16  # a larger network is a slip of the finger, refused before training


class PositionKind(StrEnum):
    """How a token knows where it stands."""

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
    num_heads: int = 8  # heads of every attention, h in the paper
    num_layers: int = 6  # layers of each stack, N in the paper
    d_k: int | None = None  # width of a head's queries and keys; None: d_model / num_heads
    d_v: int | None = None  # width of a head's values; None: d_model / num_heads
    dropout: float = 0.1  # on each sub-layer's output and on the embeddings (§5.4)
    attention_dropout: float = 0.0  # on the attention weights; not in the paper's text
    feed_forward_dropout: float = 0.0  # on the inner activations; not in the paper's text
    # Normalise before each sub-layer, and once after each stack, instead of after each residual
    # sum (§3.1).
    pre_norm: bool = False
    positions: PositionKind = PositionKind.SINUSOIDAL  # §3.5
    position_dim: int = 20  # width of concatenated positions, taken from d_model
    max_len: int = 256  # maximal tokens of a sentence; the size of learned positions
    tie_source_target: bool = True  # one embedding for both languages (§3.4)
    tie_softmax: bool = True  # the softmax reuses the target embedding (§3.4)
    attention_bias: bool = False  # a bias in attention's four projections; the paper has none
    output_bias: bool = False  # a bias before the softmax; the paper has none
    xavier_embeddings: bool = False  # drawn as other matrices: much smaller (`Transformer`)

    def __post_init__(self) -> None:
        rates = ("dropout", "attention_dropout", "feed_forward_dropout")
        check_fields(self, max_number=MAX_DIMENSION, fractions=rates)
        check_number("num_layers", self.num_layers, 1, MAX_NUM_LAYERS, integer=True)
        d_model, num_heads = self.d_model, self.num_heads
        if d_model % num_heads != 0 and (self.d_k is None or self.d_v is None):
            raise UserError(
                f"d_model {d_model} is not divisible by num_heads {num_heads}: "
                f"choose a divisor of {d_model}, or give d_k and d_v"
            )
        if self.positions == PositionKind.SINUSOIDAL and d_model % 2 != 0:
            raise UserError(
                f"d_model {d_model} is odd: sinusoids come in pairs, give an even number"
            )
        if self.positions == PositionKind.CONCATENATED:
            if self.position_dim >= d_model:
                raise UserError(
                    f"position_dim {self.position_dim} leaves no room for the word in "
                    f"d_model {d_model}: give 1 to {d_model - 1}"
                )
            if self.tie_softmax:
                raise UserError(
                    "tie_softmax needs embeddings of width d_model, and concatenated positions "
                    "narrow them: set tie_softmax=false"
                )

    @property
    def word_dim(self) -> int:
        """Width of a word's vector: d_model, less what concatenated positions take of it."""
        if self.positions == PositionKind.CONCATENATED:
            return self.d_model - self.position_dim
        return self.d_model

    @property
    def key_size(self) -> int:
        """Width of one head's queries and keys, d_k in the paper."""
        return self.d_model // self.num_heads if self.d_k is None else self.d_k

    @property
    def value_size(self) -> int:
        """Width of one head's values, d_v in the paper."""
        return self.d_model // self.num_heads if self.d_v is None else self.d_v


@dataclasses.dataclass(frozen=True, kw_only=True)
class DecoderOnlyConfig(ModelConfig):
    """The shape of a decoder-only Transformer; not in the paper.

    `num_layers` is that of its one stack, and `max_len` the maximal tokens of either side.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.tie_source_target:
            raise UserError(
                "tie_source_target=false needs two embeddings, and a decoder-only model has one "
                "for both languages: leave it out"
            )
        if self.positions == PositionKind.CONCATENATED:
            raise UserError(
                "concatenated positions cannot follow those of a source: give sinusoidal or "
                "learned ones to a decoder-only model"
            )
        if self.key_size != self.value_size:
            raise UserError(
                f"d_k {self.key_size} and d_v {self.value_size} differ, and a decoder-only model "
                "keeps a source's keys and values in one tensor: give equal ones"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """The shape of an LSTM encoder-decoder: what the paper replaces (§1, §2), not in it."""

    embedding_size: int = 100  # width of a token's vector, on either side
    hidden_size: int = 100  # width of the decoder's state, and of the encoder's in each direction
    # Read the source in both directions, and attend to all of it from every step. Without
    # attention one state carries the whole sentence.
    attention: bool = True
    dropout: float = 0.0  # on the embeddings
    max_len: int = 256  # maximal tokens of a sentence

    def __post_init__(self) -> None:
        check_fields(self, max_number=MAX_DIMENSION, fractions=("dropout",))

    @property
    def d_model(self) -> int:
        """The width that the learning rate's schedule takes for d_model."""
        return self.hidden_size


RECIPE_SECTIONS = ("data", "model", "training")  # the parts of a recipe
# By the name in recipe.json.
CONFIG_CLASSES_BY_NETWORK = {
    "transformer": ModelConfig,
    "decoder_only": DecoderOnlyConfig,
    "lstm": RecurrentConfig,
}
NETWORKS_IN_WORDS = {
    "transformer": "a Transformer",
    "decoder_only": "a decoder-only Transformer",
    "lstm": "an LSTM encoder-decoder",
}
PAPER_PARTS_NAME = "paper"  # the name of the paper's parts, in `transformer.modern.PARTS_BY_NAME`


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The text and its tokens (§5.1)."""

    corpus: str  # a name in `transformer.data.corpora.CORPORA`
    src_lang: str  # a language's code, as the corpus has it: "de"
    tgt_lang: str  # another, or "tree": a tree of phrases
    tokenizer: TokenizerKind = TokenizerKind.BPE
    joint_vocabulary: bool = True  # one vocabulary for both languages
    vocab_size: int = 8000  # maximal types of a vocabulary, the four special ones included
    src_vocab_size: int | None = None  # that of the source's own vocabulary; None: `vocab_size`
    min_frequency: int = 2  # a type with an id is seen so many times in training, or more often
    lowercase: bool = False  # lower-case the text first
    max_train_tokens: int = 100  # training pairs with a side longer than this are left out

    def __post_init__(self) -> None:
        check_fields(self)
        if self.src_lang == self.tgt_lang:
            message = f"src_lang and tgt_lang are both {self.src_lang!r}"
            raise UserError(f"{message}: give two languages")
        if self.joint_vocabulary and self.src_vocab_size is not None:
            message = "src_vocab_size has no effect on one vocabulary"
            raise UserError(f"{message}: set joint_vocabulary=false")
        # Byte-pair encoding needs a type for each byte, and words need at least one.
        num_types = 256 if self.tokenizer == TokenizerKind.BPE else 1
        min_size = NUM_SPECIAL_TOKENS + num_types
        for size in (self.vocab_size, self.src_vocab_size):
            if size is not None and size < min_size:
                message = f"vocab_size {size} is too small"
                raise UserError(f"{message}: {self.tokenizer} needs at least {min_size}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How the weights are found (§5)."""

    steps: int = 100_000  # updates of the weights
    batch_tokens: int = 25_000  # maximal tokens on either side of a batch, padding included
    batch_sentences: int | None = None  # maximal pairs of a batch; None: tokens alone bound it
    learning_rate: float | None = None  # a fixed rate; None, the paper's, means the schedule
    learning_rate_factor: float = 1.0  # multiplies the whole schedule; 1 is the paper's
    warmup_steps: int = 4000  # steps of rising rate
    beta2: float = 0.98  # Adam's (§5.3); beta1 is 0.9 everywhere
    epsilon: float = 1e-9  # Adam's
    label_smoothing: float = 0.1  # probability moved away from the true type (§5.4)
    clip_norm: float = 0.0  # largest norm of the gradient; 0 means no limit
    report_every: int = 100  # steps between lines of progress
    validate_every: int = 1000  # steps between validations, each followed by a checkpoint
    # So many checkpoints are averaged into the final model (§6.1) if that lowers the validation
    # loss; 1 means none.
    average_last: int = 5
    seed: int = 1  # for weights, dropout and the order of batches

    def __post_init__(self) -> None:
        check_fields(
            self, fractions=("label_smoothing", "beta2"), may_be_zero=("clip_norm", "seed")
        )


# The settings that earlier versions had too, each with the value by which every run trains now.
REMOVED_TRAINING_SETTINGS = {
    "smooth_over_all": True,
    "accumulate": 1,
    "bf16": False,
    "beta1": 0.9,
    "weight_decay": 0.0,
    "patience": 0,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """A model from its data to its last step, under one name."""

    name: str  # what to call it by
    about: str  # what it is, in a line
    data: DataConfig
    model: ModelConfig | RecurrentConfig
    training: TrainingConfig
    differs: str = ""  # what is not as in the system of somebody else's that it follows
    # What the network is built of: a name in `transformer.modern.PARTS_BY_NAME`.
    parts: str = PAPER_PARTS_NAME

    def __post_init__(self) -> None:
        for name in ("name", "about", "differs", "parts"):
            check_type(name, getattr(self, name), str)
        is_tied = isinstance(self.model, ModelConfig) and self.model.tie_source_target
        if is_tied and not self.data.joint_vocabulary:
            raise UserError(
                "tie_source_target needs one vocabulary: set joint_vocabulary=true, "
                "or tie_source_target=false"
            )
        if isinstance(self.model, RecurrentConfig) and self.parts != PAPER_PARTS_NAME:
            raise UserError(
                f"parts {self.parts!r} are those of a Transformer, and the network is an LSTM: "
                "leave them out"
            )
        if self.data.max_train_tokens + 1 > self.model.max_len:
            raise UserError(
                f"max_train_tokens {self.data.max_train_tokens} and an end mark are more than "
                f"max_len {self.model.max_len}: make max_train_tokens smaller, or max_len larger"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; `from_dict` reads them back."""
        return dataclasses.asdict(self) | {"network": _network_name(self.model)}

    def name_and_sections(self) -> dict[str, Any]:
        """Return all that makes a difference to a run: not the words about it."""
        values = self.to_dict()
        return {"recipe": self.name} | {name: values[name] for name in ("parts", *RECIPE_SECTIONS)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make a recipe from what `to_dict` returned.

        Raises:
            UserError: a section or a key is missing or foreign, or a value is out of range.
        """
        if not isinstance(values, dict):
            raise UserError(f"not a recipe of this version: {short_repr(values)}")
        words = {name: value for name, value in values.items() if name != "network"}
        try:
            network = CONFIG_CLASSES_BY_NETWORK[values["network"]]
            return cls(
                data=_section_from_dict(DataConfig, "data", words.pop("data")),
                model=_section_from_dict(network, "model", words.pop("model")),
                training=_section_from_dict(TrainingConfig, "training", words.pop("training")),
                **words,
            )
        except (TypeError, KeyError) as error:
            raise UserError(f"not a recipe of this version: {error}") from error

    def override(self, settings: dict[str, Any]) -> Self:
        """Return a copy with other values, as text or not: {"d_model": "128", "pre_norm": True}.

        The keys are those of the sections, and "parts".

        Raises:
            UserError: the key is unknown (the nearest is named), or the value does not fit it.
        """
        sections: dict[str, Any] = {name: getattr(self, name) for name in RECIPE_SECTIONS}
        section_of = {key: name for name, section in sections.items() for key in vars(section)}
        changes: dict[str, dict[str, Any]] = {name: {} for name in RECIPE_SECTIONS}
        own: dict[str, Any] = {}
        for key, value in settings.items():
            if key == "parts":
                own[key] = value
            elif key in section_of:
                changes[section_of[key]][key] = value
            else:
                raise unknown_name_error("key", key, [*section_of, "parts"])
        for name, section in sections.items():
            sections[name] = dataclasses.replace(section, **changes[name])
        return dataclasses.replace(self, **sections, **own)


def _network_name(config: ModelConfig | RecurrentConfig) -> str:
    """Return the name that a network has in recipe.json."""
    return next(name for name, kind in CONFIG_CLASSES_BY_NETWORK.items() if type(config) is kind)


def network_in_words(config: ModelConfig | RecurrentConfig) -> str:
    """Return "a Transformer" or what else has this shape, for a message."""
    return NETWORKS_IN_WORDS[_network_name(config)]


def _section_from_dict(config_class: type[ConfigT], section: str, values: Any) -> ConfigT:
    """Make a recipe's section; a UserError for a key that it does not have."""
    known = {field.name for field in dataclasses.fields(config_class)}
    for key in values if isinstance(values, dict) else ():
        if key not in known:
            raise UserError(f"not a recipe of this version: {section} has no {key!r} any more")
    return config_class(**values)
