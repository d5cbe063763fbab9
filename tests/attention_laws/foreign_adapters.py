"""Adapters around encoder-decoders of two libraries, whole enough for caches and searches.

Neither library is imported: a model brings its own. They also show how to write an adapter;
what the laws find in these models is in docs/foreign_models.md.
"""

from typing import Any

import torch
from torch import Tensor

from attention_laws.adapter import BOS_ID, EOS_ID, PAD_ID, Adapter, CachedDecoder, Candidate


def from_hugging_face(model: Any) -> Adapter:
    """Adapt an encoder-decoder of the library transformers, such as `MarianMTModel`.

    Its attention weights are returned if it was made with `attn_implementation="eager"`: a
    fused kernel never has them. Its caches are `past_key_values`; its searches are `generate`, with
    nothing forced and no length penalty.
    """
    calls, config = HuggingFaceCalls(model), model.config
    return Adapter(
        forward=lambda src, tgt_in: calls.run(src, tgt_in).logits,
        module=model,
        src_vocab_size=config.vocab_size,
        tgt_vocab_size=getattr(config, "decoder_vocab_size", None) or config.vocab_size,
        pad_id=config.pad_token_id,
        bos_id=config.decoder_start_token_id,
        eos_id=config.eos_token_id,
        encode=calls.encode,
        decode=lambda tgt_in, memory, src: calls.decode(tgt_in, memory, src).logits,
        cached=CachedDecoder(start=calls.start, step=calls.step, reorder=calls.reorder),
        attention=calls.attention if config._attn_implementation == "eager" else None,
        greedy=calls.greedy,
        beam=calls.beam,
        d_model=config.d_model,
    )


class HuggingFaceCalls:
    """How a model of the library transformers is called for what an adapter has."""

    def __init__(self, model: Any) -> None:
        self.model, self.eos = model, model.config.eos_token_id

    def mask_of(self, src: Tensor) -> dict[str, Tensor]:
        return {"attention_mask": (src != self.model.config.pad_token_id).long()}

    def run(self, src: Tensor, tgt_in: Tensor, **options: Any) -> Any:
        return self.model(input_ids=src, **self.mask_of(src), decoder_input_ids=tgt_in, **options)

    def encode(self, src: Tensor) -> Tensor:
        encoder = self.model.get_encoder()
        memory: Tensor = encoder(input_ids=src, **self.mask_of(src)).last_hidden_state
        return memory

    def decode(self, tgt_in: Tensor, memory: Tensor, src: Tensor, **options: Any) -> Any:
        inputs = self.mask_of(src) | {"encoder_outputs": (memory,), "decoder_input_ids": tgt_in}
        return self.model(**inputs, **options)

    def start(self, src: Tensor) -> Any:
        return self.encode(src), src, None

    def step(self, tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
        memory, src, past = cache
        output = self.decode(tokens, memory, src, past_key_values=past, use_cache=True)
        return output.logits[:, -1], (memory, src, output.past_key_values)

    def reorder(self, cache: Any, rows: Tensor) -> Any:
        memory, src, past = cache
        past.reorder_cache(rows)
        return memory[rows], src[rows], past

    def attention(self, src: Tensor, tgt_in: Tensor) -> dict[str, Tensor]:
        return weights_by_name(self.run(src, tgt_in, output_attentions=True))

    def generate(self, src: Tensor, length: int, **options: Any) -> tuple[Any, list[Any]]:
        """Return the output, and for each row its ids, cut at eos, and whether it has one."""
        options |= {"max_new_tokens": length, "do_sample": False, "forced_eos_token_id": None}
        options |= self.mask_of(src)
        output = self.model.generate(src, return_dict_in_generate=True, **options)
        rows = output.sequences[:, 1:].tolist()  # without bos
        return output, [cut_at(self.eos, row) for row in rows]

    def greedy(self, src: Tensor, length: int) -> list[list[int]]:
        return [ids for ids, _ in self.generate(src, length, num_beams=1)[1]]

    def beam(self, src: Tensor, beam_size: int, length: int) -> list[list[Candidate]]:
        # `generate` has no sums of greedy search.
        if beam_size == 1:
            output, translations = self.generate(src, length, num_beams=1, output_logits=True)
            scores = sum_log_probs(output.logits, translations, self.eos)
        else:
            beams = {"num_beams": beam_size, "num_return_sequences": beam_size}
            options = {"length_penalty": 0.0, "output_scores": True}
            output, translations = self.generate(src, length, **beams, **options)
            scores = output.sequences_scores.tolist()
        candidates = [
            Candidate(ids=ids, log_prob=score, finished=ended)
            for (ids, ended), score in zip(translations, scores, strict=True)
        ]
        return [candidates[i : i + beam_size] for i in range(0, len(candidates), beam_size)]


def weights_by_name(output: Any) -> dict[str, Tensor]:
    """Return the attention weights of each stack and layer."""
    named = {}
    for stack in ("encoder_attentions", "decoder_attentions", "cross_attentions"):
        for layer, weights in enumerate(output[stack]):
            named[f"{stack} {layer}"] = weights
    return named


def cut_at(eos: int, ids: list[int]) -> tuple[list[int], bool]:
    """Return ids up to eos, and whether it is among them."""
    return (ids[: ids.index(eos)], True) if eos in ids else (ids, False)


def sum_log_probs(
    logits: list[Tensor], translations: list[tuple[list[int], bool]], eos: int
) -> list[float]:
    """Return each translation's log probability, of the logits of each step, (batch, vocab)."""
    log_probs = torch.stack(logits, dim=1).log_softmax(dim=-1)
    sums = []
    for row, (ids, ended) in enumerate(translations):
        path = [*ids, eos] if ended else ids
        sums.append(log_probs[row, range(len(path)), path].sum().item())
    return sums


def from_x_transformers(
    model: Any, *, pad_id: int = PAD_ID, bos_id: int = BOS_ID, eos_id: int = EOS_ID
) -> Adapter:
    """Adapt an `XTransformer` of the library x-transformers, whose masks say True = may attend.

    Args:
        model: Its `encoder` and `decoder.net` are called; its own `forward` gives a loss.
        pad_id: Padding.
        bos_id: Begins each target.
        eos_id: Ends each sentence.
    """
    net = model.decoder.net

    def encode(src: Tensor) -> Tensor:
        return model.encoder(src, mask=src != pad_id, return_embeddings=True)

    def decode(tgt_in: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        return net(tgt_in, context=memory, context_mask=src != pad_id)

    def start(src: Tensor) -> Any:
        return encode(src), src != pad_id, src[:, :0], None

    def step(tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
        memory, mask, read, past = cache
        # The network takes the newest token of all that was read.
        read = torch.cat((read, tokens), dim=1)
        options = {"context": memory, "context_mask": mask, "cache": past}
        logits, past = net(read, return_intermediates=True, **options)
        return logits[:, -1], (memory, mask, read, past)

    def reorder(cache: Any, rows: Tensor) -> Any:
        memory, mask, read, past = cache
        for attention in past.attn_intermediates:
            if attention.cached_kv is not None:
                attention.cached_kv = [tensor[rows] for tensor in attention.cached_kv]
        return memory[rows], mask[rows], read[rows], past

    def greedy(src: Tensor, length: int) -> list[list[int]]:
        begin = torch.full((len(src), 1), bos_id)
        options = {"mask": src != pad_id, "eos_token": eos_id, "temperature": 0.0}
        rows = model.generate(src, begin, length, **options).tolist()
        return [cut_at(eos_id, row)[0] for row in rows]

    return Adapter(
        forward=lambda src, tgt_in: decode(tgt_in, encode(src), src),
        module=model,
        src_vocab_size=model.encoder.num_tokens,
        tgt_vocab_size=net.num_tokens,
        pad_id=pad_id,
        bos_id=bos_id,
        eos_id=eos_id,
        encode=encode,
        decode=decode,
        cached=CachedDecoder(start=start, step=step, reorder=reorder),
        greedy=greedy,
    )
