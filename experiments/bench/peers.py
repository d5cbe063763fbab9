"""The contenders: our training step, PyTorch's own layers of the same shape, and three toolkits.

Not in the paper. A toolkit takes part where it is installed (see `eole_peer`, `opennmt_peer` and
`joeynmt_peer`). Each peer gets the recipe's dropout in the same places, its tying, its biases, its
Adam (fused), its loss, and on a CPU in bfloat16 attention that is not fused, for the other is slow
there; PyTorch's layers get no mask that the loss makes superfluous.
"""

import importlib.metadata
import warnings
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Adam

from experiments.bench.eole_peer import EoleTransformer
from experiments.bench.joeynmt_peer import JoeyTransformer
from experiments.bench.opennmt_peer import OpenNMTTransformer
from transformer.config import PAD_ID, ModelConfig, Recipe, TrainingConfig
from transformer.data import corpora, tokenizers
from transformer.data.batches import Batch, encode_pairs, padding_share
from transformer.data.token_budget import TokenBudgetBatches
from transformer.embeddings import Embedding
from transformer.fast_dropout import use_fast_dropout
from transformer.model import Transformer
from transformer.recipes import find_recipe
from transformer.training.devices import Precision
from transformer.training.loop import new_state, update
from transformer.training.optimizer import ADAM_BETA1
from transformer.training.schedule import configured_learning_rate

OURS, TORCH = "ours", "torch.nn.Transformer"
# By the name that pip installs them under.
TOOLKITS: dict[str, type[EoleTransformer | OpenNMTTransformer | JoeyTransformer]] = {
    "eole": EoleTransformer,
    "OpenNMT-py": OpenNMTTransformer,
    "joeynmt": JoeyTransformer,
}


def toolkit_versions() -> dict[str, str]:
    """Return the versions of the toolkits that are installed here."""
    installed = {}
    for name in TOOLKITS:
        with suppress(importlib.metadata.PackageNotFoundError):
            installed[name] = importlib.metadata.version(name)
    return installed


class TrainingWorkload(NamedTuple):
    """A recipe's network sizes and the batches that it would begin with."""

    recipe: Recipe
    batches: list[Batch]  # the first of its first epoch
    pipeline: TokenBudgetBatches  # what made them, and makes an epoch
    src_vocab_size: int
    tgt_vocab_size: int

    @property
    def network_config(self) -> ModelConfig:
        """The shape of the recipe's Transformer."""
        assert isinstance(self.recipe.model, ModelConfig), "the benchmarks' recipes are no LSTMs"
        return self.recipe.model

    def record_fields(self) -> dict[str, Any]:
        """Describe the workload for a record."""
        tokens = [batch.num_tgt_tokens for batch in self.batches]
        return {
            "recipe": self.recipe.name,
            "corpus": self.recipe.data.corpus,
            "src_types": self.src_vocab_size,
            "tgt_types": self.tgt_vocab_size,
            "batches": len(self.batches),
            "shapes": [[*batch.src.shape, batch.tgt_in.shape[1]] for batch in self.batches],
            "tgt_tokens_a_batch": round(sum(tokens) / len(tokens)),
            "padding_share": round(padding_share(self.batches), 3),
        }


def load_training_workload(
    name: str, count: int, settings: dict[str, Any] | None = None
) -> TrainingWorkload:
    """Make a recipe's first batches, with some settings of its own changed."""
    recipe = find_recipe(name).override(settings or {})
    data, training = recipe.data, recipe.training
    text = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang)
    src, tgt = tokenizers.train(data, text.src, text.tgt)
    pipeline = TokenBudgetBatches(
        encode_pairs(src, tgt, text, data.max_train_tokens),
        training.batch_tokens,
        training.batch_sentences,
        seed=training.seed,
    )
    batches = list(islice(pipeline.epoch(0), count))
    return TrainingWorkload(recipe, batches, pipeline, src.vocab_size, tgt.vocab_size)


class TrainingContender(NamedTuple):
    """A model and its training step."""

    model: nn.Module  # returns logits (batch, tgt_len, types) for src and tgt_in
    step: Callable[[int, Batch], object]  # makes one update: its number, from 1, and a batch


class TorchTransformer(nn.Module):
    """`torch.nn.Transformer` with our embeddings and its own output layer, of a recipe's shape."""

    def __init__(self, config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int) -> None:
        super().__init__()
        self.src_embedding = Embedding(config, src_vocab_size)
        tied = config.tie_source_target
        self.tgt_embedding = self.src_embedding if tied else Embedding(config, tgt_vocab_size)
        self.stacks = _make_nn_transformer_stacks(config)
        self.output = nn.Linear(config.d_model, tgt_vocab_size, bias=config.output_bias)
        if config.tie_softmax:
            self.output.weight = self.tgt_embedding.token.weight

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Score every next token, (batch, tgt_len, tgt_vocab_size)."""
        padding = src == PAD_ID
        hidden = self.stacks(
            self.src_embedding(src),
            self.tgt_embedding(tgt_in),
            tgt_mask=torch.ones(2 * [tgt_in.shape[1]], dtype=torch.bool).triu(diagonal=1),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return self.output(hidden)


def _make_nn_transformer_stacks(config: ModelConfig) -> nn.Transformer:
    """Make PyTorch's stacks with a recipe's dropouts, biases and norms."""
    # PyTorch warns of what it cannot do in evaluation, which is not measured here.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "enable_nested_tensor is True")
        stacks = nn.Transformer(
            config.d_model,
            config.num_heads,
            config.num_layers,
            config.num_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
            norm_first=config.pre_norm,
        )
    if not config.pre_norm:  # no norm after the last layer's own
        stacks.encoder.norm = stacks.decoder.norm = None
    for module in stacks.modules():
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = config.attention_dropout
            if not config.attention_bias:
                module.register_parameter("in_proj_bias", None)
                module.out_proj.register_parameter("bias", None)
        if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            module.dropout.p = config.feed_forward_dropout
    return stacks


def make_contenders(
    workload: TrainingWorkload, precision: Precision
) -> dict[str, TrainingContender]:
    """Build ours and the peers, in training mode, by name."""
    training = workload.recipe.training
    sizes = workload.network_config, workload.src_vocab_size, workload.tgt_vocab_size
    torch.manual_seed(training.seed)
    contenders = {
        OURS: _make_our_contender(workload, training, precision),
        TORCH: _make_torch_contender(TorchTransformer(*sizes), training, precision),
    }
    for name in toolkit_versions():
        peer = TOOLKITS[name](*sizes, training.label_smoothing)
        contenders[name] = _make_peer_contender(peer, peer.mean_loss, training, precision)
    return contenders


def _make_our_contender(
    workload: TrainingWorkload, training: TrainingConfig, precision: Precision
) -> TrainingContender:
    """Make updates as `train` does."""
    src_vocab_size, tgt_vocab_size = workload.src_vocab_size, workload.tgt_vocab_size
    model = Transformer(
        workload.network_config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size
    )
    use_fast_dropout(model).train()
    state = new_state(model, training, precision)

    def step(number: int, batch: Batch) -> None:
        rate = configured_learning_rate(number, workload.network_config.d_model, training)
        update(model, state, batch, training, rate, precision)

    return TrainingContender(model, step)


def _make_torch_contender(
    model: nn.Module, training: TrainingConfig, precision: Precision
) -> TrainingContender:
    """Make updates with `torch.nn.CrossEntropyLoss`."""
    loss = nn.CrossEntropyLoss(ignore_index=PAD_ID, label_smoothing=training.label_smoothing)

    def mean_loss(batch: Batch) -> Tensor:
        logits = model(batch.src, batch.tgt_in)
        mean: Tensor = loss(logits.flatten(0, 1), batch.tgt_out.flatten())
        return mean

    return _make_peer_contender(model, mean_loss, training, precision)


def _make_peer_contender(
    model: nn.Module,
    mean_loss: Callable[[Batch], Tensor],
    training: TrainingConfig,
    precision: Precision,
) -> TrainingContender:
    """Make updates as most tutorials do, with the settings of ours."""
    settings: dict[str, Any] = {
        "betas": (ADAM_BETA1, training.beta2),
        "eps": training.epsilon,
        "fused": True,
    }
    rate = training.learning_rate or 1e-3  # a schedule costs nothing worth measuring
    optimizer = Adam(model.train().parameters(), lr=rate, **settings)

    def step(number: int, batch: Batch) -> None:
        optimizer.zero_grad()
        with precision.autocast(batch.src.device):
            mean = mean_loss(batch)
        mean.backward()
        if training.clip_norm:
            nn.utils.clip_grad_norm_(model.parameters(), training.clip_norm)
        optimizer.step()

    return TrainingContender(model, step)
