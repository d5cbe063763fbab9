"""A Transformer for Hugging Face's library `transformers`, and for its Hub.

Not in the paper. The library's Pegasus is our pre-norm network, and its Marian our post-norm one.
Their files are written here without the library.

    config.json, generation_config.json        what the model is, and how it searches
    model.safetensors                          its weights, under the library's names
    tokenizer.json, tokenizer_config.json      one vocabulary, with the source's normalizer
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from engines.tables import check_paper_parts
from engines.tokenizer_json import write_tokenizer_json
from transformer.attention import MultiHeadAttention
from transformer.config import (
    BEAM_SIZE,
    BOS_ID,
    EOS_ID,
    LENGTH_PENALTY,
    PAD_ID,
    SPECIAL_TOKENS,
    UNK_ID,
    DataConfig,
    ModelConfig,
    PositionKind,
)
from transformer.data.corpora import corpus_licence
from transformer.data.tokenizers import BPETokenizer
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Decoder, Encoder, Transformer
from transformer.support.errors import UserError
from transformer.support.files import write_atomically

FORBIDDEN_TOKEN_BIAS = torch.finfo(
    torch.float32
).min  # the bias of padding and bos, which no sentence holds
SPECIAL_TOKEN_IDS = {
    "pad_token_id": PAD_ID,
    "bos_token_id": BOS_ID,
    "eos_token_id": EOS_ID,
    "decoder_start_token_id": BOS_ID,
}
SEARCH_SETTINGS = {"num_beams": BEAM_SIZE, "length_penalty": LENGTH_PENALTY}
NamedTensorIterator = Iterator[tuple[str, Tensor]]
# By corpus, as the Hub calls them; any other corpus's is "other".
HUB_LICENCE_BY_CORPUS = {"embedded": "cc-by-4.0", "tatoeba": "cc-by-2.0"}


def write_transformers_model(
    model: Transformer, source: BPETokenizer, target: BPETokenizer, folder: Path
) -> None:
    """Write configuration, weights and tokenizer, for `AutoModelForSeq2SeqLM` to load.

    The model is in evaluation mode, on the CPU; the tokenizers have one vocabulary. What the
    library has no form for is a UserError.
    """
    check_paper_parts(model)
    config = model.config
    check_config_exportable(config, joint=source.vocabulary == target.vocabulary)
    weights = {name: tensor.detach().float().clone() for name, tensor in _named_weights(model)}
    write_atomically(folder / "model.safetensors", save(weights, {"format": "pt"}))
    write_tokenizer_json(source, config.max_len, folder / "tokenizer.json")
    _write_json(folder / "config.json", _config_json_fields(config, model.output.out_features))
    # The library's length penalty is length ** alpha, not the paper's.
    generation = SPECIAL_TOKEN_IDS | SEARCH_SETTINGS | {"max_length": config.max_len}
    _write_json(folder / "generation_config.json", generation)
    _write_json(folder / "tokenizer_config.json", _tokenizer_config_json_fields(config.max_len))


def _write_json(path: Path, values: dict[str, Any]) -> None:
    write_atomically(path, (json.dumps(values, indent=2) + "\n").encode())


def check_config_exportable(config: ModelConfig, joint: bool) -> None:
    """Raise if the library has no such network; `joint`: both sides have one vocabulary."""
    if config.positions == PositionKind.CONCATENATED:
        limit = "adds its positions, and does not concatenate them"
    elif config.num_heads * config.key_size != config.d_model or (
        config.num_heads * config.value_size != config.d_model
    ):
        limit = f"has heads of d_model / num_heads, {config.d_model} / {config.num_heads}"
    elif not (joint and config.tie_source_target):
        limit = "has one vocabulary and one table for both sides"
    else:
        return
    raise UserError(f"transformers {limit}, unlike this model: export it --to onnx")


def _named_weights(model: Transformer) -> NamedTensorIterator:
    """Yield every weight under the library's name."""
    yield "model.shared.weight", model.src_embedding.token.weight
    if not model.config.tie_softmax:  # The library then ties nothing at all.
        yield "lm_head.weight", model.output.weight
        for side in ("encoder", "decoder"):
            yield f"model.{side}.embed_tokens.weight", model.src_embedding.token.weight
    bias = torch.zeros(1, model.output.out_features)
    if model.output.bias is not None:
        bias += model.output.bias
    bias[:, [PAD_ID, BOS_ID]] = FORBIDDEN_TOKEN_BIAS
    yield "final_logits_bias", bias
    for side, embedding, stack in (
        ("encoder", model.src_embedding, model.encoder),
        ("decoder", model.tgt_embedding, model.decoder),
    ):
        yield f"model.{side}.embed_positions.weight", embedding.positions.table
        yield from _named_stack_weights(f"model.{side}", stack)


def _named_stack_weights(name: str, stack: Encoder | Decoder) -> NamedTensorIterator:
    for number, layer in enumerate(stack.layers):
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        prefix = f"{name}.layers.{number}"
        self_norm = layer.self_attention_residual.norm
        yield from _named_attention_weights(f"{prefix}.self_attn", layer.self_attention)
        yield from _named_weight_and_bias(f"{prefix}.self_attn_layer_norm", self_norm)
        if isinstance(layer, DecoderLayer):
            cross_norm = layer.cross_attention_residual.norm
            yield from _named_attention_weights(f"{prefix}.encoder_attn", layer.cross_attention)
            yield from _named_weight_and_bias(f"{prefix}.encoder_attn_layer_norm", cross_norm)
        yield from _named_weight_and_bias(f"{prefix}.fc1", layer.feed_forward.inner)
        yield from _named_weight_and_bias(f"{prefix}.fc2", layer.feed_forward.outer)
        yield from _named_weight_and_bias(
            f"{prefix}.final_layer_norm", layer.feed_forward_residual.norm
        )
    if isinstance(stack.norm, nn.LayerNorm):  # A post-norm stack has none at its end.
        yield from _named_weight_and_bias(f"{name}.layer_norm", stack.norm)


def _named_attention_weights(name: str, attention: MultiHeadAttention) -> NamedTensorIterator:
    yield from _named_weight_and_bias(f"{name}.q_proj", attention.query_projection)
    yield from _named_weight_and_bias(f"{name}.k_proj", attention.key_projection)
    yield from _named_weight_and_bias(f"{name}.v_proj", attention.value_projection)
    yield from _named_weight_and_bias(f"{name}.out_proj", attention.output_projection)


def _named_weight_and_bias(name: str, module: nn.Module) -> NamedTensorIterator:
    """Yield a weight and its bias: zeros for one of ours that has none, as the library has each."""
    # Models with other norms are refused before this.
    assert isinstance(module, nn.Linear | nn.LayerNorm)
    yield f"{name}.weight", module.weight
    bias = module.bias
    yield f"{name}.bias", torch.zeros(len(module.weight)) if bias is None else bias


def _config_json_fields(config: ModelConfig, vocab_size: int) -> dict[str, Any]:
    network = "PegasusForConditionalGeneration" if config.pre_norm else "MarianMTModel"
    return {
        "model_type": "pegasus" if config.pre_norm else "marian",
        "architectures": [network],
        "is_encoder_decoder": True,
        "vocab_size": vocab_size,
        "d_model": config.d_model,
        "num_hidden_layers": config.num_layers,
        "encoder_attention_heads": config.num_heads,
        "encoder_ffn_dim": config.d_ff,
        "encoder_layers": config.num_layers,
        "decoder_attention_heads": config.num_heads,
        "decoder_ffn_dim": config.d_ff,
        "decoder_layers": config.num_layers,
        "max_position_embeddings": config.max_len,
        "activation_function": "relu",
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "scale_embedding": True,
        "tie_word_embeddings": config.tie_softmax,
        "forced_eos_token_id": None,
        **SPECIAL_TOKEN_IDS,
    }


def _tokenizer_config_json_fields(max_len: int) -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_len,
        "clean_up_tokenization_spaces": False,
        "pad_token": SPECIAL_TOKENS[PAD_ID],
        "unk_token": SPECIAL_TOKENS[UNK_ID],
        "bos_token": SPECIAL_TOKENS[BOS_ID],
        "eos_token": SPECIAL_TOKENS[EOS_ID],
    }


def hub_card_front_matter(name: str, data: DataConfig, figures: dict[str, Any] | None) -> str:
    """Return what the Hub reads at the head of a model's card: languages, licence, scores.

    `figures` are those of a shipped model's card.json, measured on its test set.
    """
    head: dict[str, Any] = {
        "language": [data.src_lang, data.tgt_lang],
        "license": HUB_LICENCE_BY_CORPUS.get(data.corpus, "other"),
        "library_name": "transformers",
        "pipeline_tag": "translation",
        "tags": ["translation", "attention-is-all-you-need"],
        "datasets": [data.corpus],
    }
    if head["license"] == "other":
        head["license_name"] = corpus_licence(data.corpus)
    if figures is not None:
        metrics = [
            {"type": kind, "name": figures[name]["signature"], "value": figures[name]["score"]}
            for name, kind in (("bleu", "sacrebleu"), ("chrf++", "chrf"))
        ]
        result = {
            "task": {"type": "translation"},
            "dataset": {"name": figures["corpus"], "type": data.corpus, "split": figures["split"]},
            "metrics": metrics,
        }
        head["metrics"] = [metric["type"] for metric in metrics]
        head["model-index"] = [{"name": name, "results": [result]}]
    # The Hub reads YAML, of which JSON is a part.
    return f"---\n{json.dumps(head, indent=2)}\n---\n\n"
