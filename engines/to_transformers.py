"""A Transformer for Hugging Face's library `transformers`, and for its Hub.

Not in the paper. The library's Pegasus is our pre-norm network, and its Marian our post-norm one,
down to the names of their weights: files are written, and the library is not needed for it.

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

from engines.tokenizer_json import write_tokenizer
from transformer.attention import MultiHeadAttention
from transformer.config import (
    BEAM_SIZE,
    BOS_ID,
    EOS_ID,
    LENGTH_PENALTY,
    PAD_ID,
    SPECIAL_TOKENS,
    DataConfig,
    ModelConfig,
)
from transformer.data.corpora import CORPORA
from transformer.data.tokenizers import BPETokenizer
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Decoder, Encoder, Transformer
from transformer.support.errors import UserError
from transformer.support.files import write_atomically

LOWEST = torch.finfo(torch.float32).min  # added to the logits of what no sentence holds
IDS = {
    "pad_token_id": PAD_ID,
    "bos_token_id": BOS_ID,
    "eos_token_id": EOS_ID,
    "decoder_start_token_id": BOS_ID,
}
SEARCH = {"num_beams": BEAM_SIZE, "length_penalty": LENGTH_PENALTY}
Named = Iterator[tuple[str, Tensor]]

LICENCES = {"embedded": "cc-by-4.0", "tatoeba": "cc-by-2.0"}  # as the Hub calls them; else "other"


def write_transformers(
    model: Transformer, source: BPETokenizer, target: BPETokenizer, folder: Path
) -> None:
    """Write configuration, weights and tokenizer, for `AutoModelForSeq2SeqLM` to load.

    The model is in evaluation mode, on the CPU; the tokenizers have one vocabulary. What the
    library has no form for is a UserError.
    """
    config = model.config
    check(config, source.vocabulary == target.vocabulary)
    weights = {name: value.detach().float().clone() for name, value in _weights(model)}
    write_atomically(folder / "model.safetensors", save(weights, {"format": "pt"}))
    write_tokenizer(source, config.max_len, folder / "tokenizer.json")
    for name, values in (
        ("config.json", _config(config, model.output.out_features)),
        # The library's penalty is length ** alpha, not the paper's.
        ("generation_config.json", IDS | SEARCH | {"max_length": config.max_len}),
        ("tokenizer_config.json", _tokenizer(config.max_len)),
    ):
        write_atomically(folder / name, (json.dumps(values, indent=2) + "\n").encode())


def check(config: ModelConfig, joint: bool) -> None:
    """Refuse what the library's networks cannot be, such as two vocabularies that are not joint."""
    widths = {config.num_heads * config.key_size, config.num_heads * config.value_size}
    even = widths == {config.d_model}
    for holds, lack in (
        (config.positions != "concatenated", "adds its positions, and does not concatenate them"),
        (even, f"has heads of d_model / num_heads, {config.d_model} / {config.num_heads}"),
        (joint and config.tie_source_target, "has one vocabulary and one table for both sides"),
    ):
        if not holds:
            raise UserError(f"transformers {lack}, unlike this model: export it --to onnx")


def _weights(model: Transformer) -> Named:
    yield "model.shared.weight", model.src_embedding.token.weight
    if not model.config.tie_softmax:  # then the library ties nothing
        yield "lm_head.weight", model.output.weight
        for side in ("encoder", "decoder"):
            yield f"model.{side}.embed_tokens.weight", model.src_embedding.token.weight
    bias = torch.zeros(1, model.output.out_features)
    if model.output.bias is not None:
        bias += model.output.bias
    bias[:, [PAD_ID, BOS_ID]] = LOWEST
    yield "final_logits_bias", bias
    for side, embedding, stack in (
        ("encoder", model.src_embedding, model.encoder),
        ("decoder", model.tgt_embedding, model.decoder),
    ):
        yield f"model.{side}.embed_positions.weight", embedding.position_table()
        yield from _stack(f"model.{side}", stack)


def _stack(name: str, stack: Encoder | Decoder) -> Named:
    for number, layer in enumerate(stack.layers):
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        at = f"{name}.layers.{number}"
        yield from _attention(f"{at}.self_attn", layer.self_attention)
        yield from _pair(f"{at}.self_attn_layer_norm", layer.self_attention_residual.norm)
        if isinstance(layer, DecoderLayer):
            yield from _attention(f"{at}.encoder_attn", layer.cross_attention)
            yield from _pair(f"{at}.encoder_attn_layer_norm", layer.cross_attention_residual.norm)
        yield from _pair(f"{at}.fc1", layer.feed_forward.inner)
        yield from _pair(f"{at}.fc2", layer.feed_forward.outer)
        yield from _pair(f"{at}.final_layer_norm", layer.feed_forward_residual.norm)
    if isinstance(stack.norm, nn.LayerNorm):  # pre-norm
        yield from _pair(f"{name}.layer_norm", stack.norm)


def _attention(name: str, attention: MultiHeadAttention) -> Named:
    for letter, projection in (
        ("q", attention.query_projection),
        ("k", attention.key_projection),
        ("v", attention.value_projection),
        ("out", attention.output_projection),
    ):
        yield from _pair(f"{name}.{letter}_proj", projection)


def _pair(name: str, module: nn.Linear | nn.LayerNorm) -> Named:
    """Give a weight and its bias; the library has one everywhere, and ours may be none."""
    yield f"{name}.weight", module.weight
    yield f"{name}.bias", torch.zeros(len(module.weight)) if module.bias is None else module.bias


def _config(config: ModelConfig, vocab_size: int) -> dict[str, Any]:
    network = "PegasusForConditionalGeneration" if config.pre_norm else "MarianMTModel"
    sizes = {"attention_heads": config.num_heads, "ffn_dim": config.d_ff}
    sizes["layers"] = config.num_layers
    return {
        "model_type": "pegasus" if config.pre_norm else "marian",
        "architectures": [network],
        "is_encoder_decoder": True,
        "vocab_size": vocab_size,
        "d_model": config.d_model,
        "num_hidden_layers": config.num_layers,
        **{f"{side}_{of}": size for side in ("encoder", "decoder") for of, size in sizes.items()},
        "max_position_embeddings": config.max_len,
        "activation_function": "relu",
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "scale_embedding": True,
        "tie_word_embeddings": config.tie_softmax,
        "forced_eos_token_id": None,
        **IDS,
    }


def _tokenizer(max_len: int) -> dict[str, Any]:
    names = ("pad_token", "unk_token", "bos_token", "eos_token")
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_len,
        "clean_up_tokenization_spaces": False,
        **dict(zip(names, SPECIAL_TOKENS, strict=True)),
    }


def card_head(name: str, data: DataConfig, figures: dict[str, Any] | None) -> str:
    """Give what the Hub reads at the head of a model's card: languages, licence, scores.

    The figures are of its test set, as a shipped model's card.json has them.
    """
    head: dict[str, Any] = {
        "language": [data.src_lang, data.tgt_lang],
        "license": LICENCES.get(data.corpus, "other"),
        "library_name": "transformers",
        "pipeline_tag": "translation",
        "tags": ["translation", "attention-is-all-you-need"],
        "datasets": [data.corpus],
    }
    if head["license"] == "other":
        head |= {"license_name": CORPORA[data.corpus].licence}
    if figures is not None:
        bleu = figures["bleu"]
        metric = {"type": "sacrebleu", "name": bleu["signature"], "value": bleu["score"]}
        result = {
            "task": {"type": "translation"},
            "dataset": {"name": figures["corpus"], "type": data.corpus, "split": figures["split"]},
            "metrics": [metric],
        }
        head |= {"metrics": ["sacrebleu"], "model-index": [{"name": name, "results": [result]}]}
    return f"---\n{json.dumps(head, indent=2)}\n---\n\n"  # YAML holds all of JSON
