"""Beginning a run with a trained model: its weights, and so its network and its vocabularies.

Not in the paper. It is also called fine-tuning, or transfer from a parent model: a model of the
same or of another pair of languages learns on from other text, with a new optimizer and schedule.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from transformer.config import (
    DataConfig,
    ModelConfig,
    PositionKind,
    Recipe,
    RecurrentConfig,
    TokenizerKind,
    network_in_words,
)
from transformer.data.normalizers import normalizer_name_of_language
from transformer.data.tokenizers import BPETokenizer, Tokenizer, WordTokenizer
from transformer.models import folder
from transformer.models.folder import ModelDescription, Network, read_model
from transformer.models.weights import load_weights, model_weights
from transformer.support.errors import UserError, require
from transformer.support.files import file_sha256
from transformer.support.folders import find_model_folder

# What a vocabulary was learned by, and not how it is used.
VOCABULARY_SETTINGS = (
    "tokenizer",
    "joint_vocabulary",
    "vocab_size",
    "src_vocab_size",
    "min_frequency",
    "lowercase",
)
# What weights of any value can be trained on with.
FREE_NETWORK_SETTINGS = frozenset(
    ("dropout", "attention_dropout", "feed_forward_dropout", "xavier_embeddings")
)


@dataclass(frozen=True)
class StartModel:
    """A trained model that a run begins with."""

    name: str  # as the user gave it: a folder, or a shipped model
    path: Path  # of its weights
    description: ModelDescription
    weights: dict[str, Tensor]  # see `model_weights`
    weights_sha256: str  # of their file

    def recipe_with_vocabularies(self, recipe: Recipe) -> Recipe:
        """Return a recipe with the settings of this model's vocabularies.

        A UserError where the recipe's network is another or has other parts, or a vocabulary of
        words is of other languages.
        """
        theirs = self.description.recipe
        require_same_network(self.name, theirs.model, recipe.model)
        require(
            theirs.parts == recipe.parts,
            f"{self.name} does not fit this recipe, for it has the parts {theirs.parts!r} and not "
            f"{recipe.parts!r}: give --set parts={theirs.parts}, or start from another model",
        )
        if theirs.data.tokenizer == TokenizerKind.WORDS:
            _require_known_languages(self.name, theirs.data, recipe.data)
        settings = {name: getattr(theirs.data, name) for name in VOCABULARY_SETTINGS}
        return replace(recipe, data=replace(recipe.data, **settings))

    def tokenizers(self, data: DataConfig) -> tuple[Tokenizer, Tokenizer]:
        """Return this model's tokenizers, each of which normalizes text as its new language does.

        Of a language that the model knows, on either side, that is the way in which it was trained.
        """
        _, src, tgt = self.description
        theirs = self.description.recipe.data
        known = {theirs.src_lang: src, theirs.tgt_lang: tgt}
        return (
            _tokenizer_adapted_to_language(src, data.src_lang, known),
            _tokenizer_adapted_to_language(tgt, data.tgt_lang, known),
        )

    def initialize(self, model: nn.Module) -> None:
        """Put the weights into a network."""
        load_weights(model, self.weights, self.path)

    def languages(self) -> str:
        """Return "de-en": the pair that the model translates."""
        data = self.description.recipe.data
        return f"{data.src_lang}-{data.tgt_lang}"

    def to_dict(self) -> dict[str, Any]:
        """Return what a run's records say of it."""
        return {
            "model": self.name,
            "languages": self.languages(),
            "weights_sha256": self.weights_sha256,
        }


def read_start_model(
    model: str | Path, build: Callable[[ModelDescription], Network] = ModelDescription.build
) -> StartModel:
    """Read a trained model by its folder or, shipped, by its name; errors as of `read_model`."""
    model_folder = find_model_folder(model)
    description, network = read_model(model_folder, build=build)
    path = model_folder / folder.WEIGHTS
    return StartModel(
        name=str(model),
        path=path,
        description=description,
        weights=model_weights(network),
        weights_sha256=file_sha256(path),
    )


def with_network_of(recipe: Recipe, start: Recipe) -> Recipe:
    """Return a recipe with the network of another one and its parts, but for its dropout."""
    own = {
        name: value for name, value in vars(recipe.model).items() if name in FREE_NETWORK_SETTINGS
    }
    free = {name: value for name, value in own.items() if hasattr(start.model, name)}
    return replace(recipe, model=replace(start.model, **free), parts=start.parts)


def require_same_network(
    name: str, theirs: ModelConfig | RecurrentConfig, ours: ModelConfig | RecurrentConfig
) -> None:
    """Raise a UserError unless weights of one network fit the other; each setting is named."""
    require(
        type(theirs) is type(ours),
        f"{name} is {network_in_words(theirs)}, and this recipe trains {network_in_words(ours)}: "
        "start from another model",
    )
    values = _shaping_settings(ours)
    differing = {
        key: value for key, value in _shaping_settings(theirs).items() if value != values[key]
    }
    if {"d_model", "num_heads"} & differing.keys():
        # The widths of the heads follow from these, if nobody gave others.
        for key in ("d_k", "d_v"):
            if getattr(theirs, key) is getattr(ours, key) is None:
                differing.pop(key, None)
    problems = [f"{key} {value} and not {values[key]}" for key, value in differing.items()]
    settings = " ".join(
        f"--set {key}={_as_command_line_text(value)}" for key, value in differing.items()
    )
    require(
        not differing,
        f"{name} does not fit this recipe, for it has {', '.join(problems)}: give {settings}, or "
        "start from another model",
    )


def _as_command_line_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shaping_settings(config: ModelConfig | RecurrentConfig) -> dict[str, Any]:
    """Return the settings of a network that its weights depend on, in shape or in meaning."""
    settings = {
        key: value for key, value in vars(config).items() if key not in FREE_NETWORK_SETTINGS
    }
    if isinstance(config, RecurrentConfig) or config.positions == PositionKind.SINUSOIDAL:
        del settings["max_len"]
    if isinstance(config, ModelConfig):
        settings |= {"d_k": config.key_size, "d_v": config.value_size}
        if config.positions != PositionKind.CONCATENATED:
            del settings["position_dim"]
    return settings


def _require_known_languages(name: str, theirs: DataConfig, ours: DataConfig) -> None:
    """Raise unless a vocabulary of words is of the languages that it is to be used for."""
    known = {"src_lang": {theirs.src_lang}, "tgt_lang": {theirs.tgt_lang}}
    if theirs.joint_vocabulary:
        known = {side: {theirs.src_lang, theirs.tgt_lang} for side in known}
    for side, languages in known.items():
        lang = getattr(ours, side)
        require(
            lang in languages,
            f"{name} has a vocabulary of words of {' and '.join(sorted(languages))}, and {side} is "
            f"{lang}, whose words it would not know: start from a model with tokenizer=bpe",
        )


def _tokenizer_adapted_to_language(
    tokenizer: Tokenizer, lang: str, known: dict[str, Tokenizer]
) -> Tokenizer:
    """Return a side's tokenizer for text of a language; `known` are the model's, by language."""
    if known.get(lang) is tokenizer:
        return tokenizer
    of_language = known.get(lang)
    normalizer = normalizer_name_of_language(lang)
    if isinstance(of_language, BPETokenizer | WordTokenizer):
        normalizer = of_language.normalizer
    if isinstance(tokenizer, BPETokenizer):
        return BPETokenizer(
            tokenizer.merges, tokenizer.lowercase, normalizer, tokenizer.pre_tokenizer
        )
    assert isinstance(tokenizer, WordTokenizer), "a folder holds no other"
    return WordTokenizer(lang, tokenizer.types, tokenizer.lowercase, normalizer)


def require_same_start(saved: dict[str, Any] | None, start: StartModel | None, out: Path) -> None:
    """Raise a UserError unless a run that is resumed was begun with the same start model, or none.

    `saved` is what the run's data.json says of it.
    """
    if saved is None:
        require(
            start is None,
            f"the run in {out} was begun without --start-from: leave it out, or begin in another "
            "folder",
        )
        return
    if start is None:
        raise UserError(
            f"the run in {out} was begun with --start-from {saved.get('model')}: give that too"
        )
    require(
        saved.get("weights_sha256") == start.weights_sha256,
        f"the run in {out} was begun with the weights of {saved.get('model')}, and those of "
        f"{start.name} are others: give the model that it was begun with, or begin in another "
        "folder",
    )
