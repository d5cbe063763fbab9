"""Adapters around encoder-decoders of two libraries, whole enough for caches and searches.

Neither library is imported: a model brings its own. They are examples of how to write one, too;
what the laws find in them is in docs/foreign_models.md.
"""

from typing import Any

import torch
from torch import Tensor

from attention_laws.adapter import BOS_ID, EOS_ID, PAD_ID, Adapter, CachedDecoder, Candidate


def from_hugging_face(model: Any) -> Adapter:
    """Adapt an encoder-decoder of the library transformers, such as `MarianMTModel`.

    Its attention weights are looked at where it was made with `attn_implementation="eager"`: a
    fused kernel never has them. Its caches are `past_key_values`; its searches are `generate`, with
    nothing forced and no length penalty.
    """
    config = model.config
    bos, eos, pad = config.decoder_start_token_id, config.eos_token_id, config.pad_token_id

    def masked(src: Tensor) -> dict[str, Tensor]:
        return {"attention_mask": (src != pad).long()}

    def encode(src: Tensor) -> Tensor:
        return model.get_encoder()(input_ids=src, **masked(src)).last_hidden_state

    def of_memory(tgt_in: Tensor, memory: Tensor, src: Tensor, **options: Any) -> Any:
        given = masked(src) | {"encoder_outputs": (memory,), "decoder_input_ids": tgt_in}
        return model(**given, **options)

    def of_source(src: Tensor, tgt_in: Tensor, **options: Any) -> Any:
        return model(input_ids=src, **masked(src), decoder_input_ids=tgt_in, **options)

    def start(src: Tensor) -> Any:
        return encode(src), src, None

    def step(tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
        memory, src, past = cache
        found = of_memory(tokens, memory, src, past_key_values=past, use_cache=True)
        return found.logits[:, -1], (memory, src, found.past_key_values)

    def reorder(cache: Any, rows: Tensor) -> Any:
        memory, src, past = cache
        past.reorder_cache(rows)
        return memory[rows], src[rows], past

    def attention(src: Tensor, tgt_in: Tensor) -> dict[str, Tensor]:
        found = of_source(src, tgt_in, output_attentions=True)
        stacks = ("encoder_attentions", "decoder_attentions", "cross_attentions")
        named = (
            (stack, layer, each) for stack in stacks for layer, each in enumerate(found[stack])
        )
        return {f"{stack} {layer}": weights for stack, layer, weights in named}

    def generate(src: Tensor, length: int, **options: Any) -> tuple[Any, list[Any]]:
        """Give what is found, and for each row its ids, cut at eos, and whether it has one."""
        options |= {"max_new_tokens": length, "do_sample": False, "forced_eos_token_id": None}
        found = model.generate(src, **masked(src), return_dict_in_generate=True, **options)
        rows = found.sequences[:, 1:].tolist()  # without bos
        return found, [
            (row[: row.index(eos)], True) if eos in row else (row, False) for row in rows
        ]

    def greedy(src: Tensor, length: int) -> list[list[int]]:
        return [ids for ids, _ in generate(src, length, num_beams=1)[1]]

    def beam(src: Tensor, beam_size: int, length: int) -> list[list[Candidate]]:
        if beam_size == 1:  # `generate` has no sums of greedy search
            found, said = generate(src, length, num_beams=1, output_logits=True)
            steps = torch.stack(found.logits, dim=1).log_softmax(dim=-1)
            paths = [[*ids, eos] if ended else ids for ids, ended in said]
            scores = [steps[i, range(len(p)), p].sum().item() for i, p in enumerate(paths)]
        else:
            beams = {"num_beams": beam_size, "num_return_sequences": beam_size}
            options = {"length_penalty": 0.0, "output_scores": True}
            found, said = generate(src, length, **beams, **options)
            scores = found.sequences_scores.tolist()
        ranked = [
            Candidate(ids, score, end) for (ids, end), score in zip(said, scores, strict=True)
        ]
        return [ranked[i : i + beam_size] for i in range(0, len(ranked), beam_size)]

    return Adapter(
        forward=lambda src, tgt_in: of_source(src, tgt_in).logits,
        module=model,
        src_vocab_size=config.vocab_size,
        tgt_vocab_size=getattr(config, "decoder_vocab_size", None) or config.vocab_size,
        pad_id=pad,
        bos_id=bos,
        eos_id=eos,
        encode=encode,
        decode=lambda tgt_in, memory, src: of_memory(tgt_in, memory, src).logits,
        cached=CachedDecoder(start=start, step=step, reorder=reorder),
        attention=attention if config._attn_implementation == "eager" else None,
        greedy=greedy,
        beam=beam,
        d_model=config.d_model,
    )


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
        read = torch.cat((read, tokens), dim=1)  # the network takes the newest of it
        options = {"context": memory, "context_mask": mask, "cache": past}
        logits, past = net(read, return_intermediates=True, **options)
        return logits[:, -1], (memory, mask, read, past)

    def reorder(cache: Any, rows: Tensor) -> Any:
        memory, mask, read, past = cache
        for each in past.attn_intermediates:
            if each.cached_kv is not None:
                each.cached_kv = [tensor[rows] for tensor in each.cached_kv]
        return memory[rows], mask[rows], read[rows], past

    def greedy(src: Tensor, length: int) -> list[list[int]]:
        begin = torch.full((len(src), 1), bos_id)
        options = {"mask": src != pad_id, "eos_token": eos_id, "temperature": 0.0}
        said = model.generate(src, begin, length, **options).tolist()
        return [ids[: ids.index(eos_id)] if eos_id in ids else ids for ids in said]

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
