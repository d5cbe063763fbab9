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

    Its attention weights are looked at where it was made with `attn_implementation="eager"`.
    """
    config = model.config

    def mask(src: Tensor) -> Tensor:
        return (src != config.pad_token_id).long()

    def encode(src: Tensor) -> Tensor:
        return model.get_encoder()(input_ids=src, attention_mask=mask(src)).last_hidden_state

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        return model(input_ids=src, attention_mask=mask(src), decoder_input_ids=tgt_in).logits

    def decode(tgt_in: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        known = {"encoder_outputs": (memory,), "attention_mask": mask(src)}
        return model(**known, decoder_input_ids=tgt_in).logits

    vocab_size = config.vocab_size
    search = _HuggingFaceSearch(model)
    return Adapter(
        forward=forward,
        module=model,
        src_vocab_size=vocab_size,
        tgt_vocab_size=getattr(config, "decoder_vocab_size", None) or vocab_size,
        pad_id=config.pad_token_id,
        bos_id=config.decoder_start_token_id,
        eos_id=config.eos_token_id,
        encode=encode,
        decode=decode,
        cached=_hugging_face_cache(model, encode, mask),
        attention=_hugging_face_maps(model, mask),
        greedy=search.greedy,
        beam=search.beam,
        d_model=config.d_model,
    )


def _hugging_face_cache(model: Any, encode: Any, mask: Any) -> CachedDecoder:
    """Decode with `past_key_values`, as `generate` does."""

    def start(src: Tensor) -> Any:
        return encode(src), mask(src), None

    def step(tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
        memory, attended, past = cache
        found = model(
            encoder_outputs=(memory,),
            attention_mask=attended,
            decoder_input_ids=tokens,
            past_key_values=past,
            use_cache=True,
        )
        return found.logits[:, -1], (memory, attended, found.past_key_values)

    def reorder(cache: Any, rows: Tensor) -> Any:
        memory, attended, past = cache
        past.reorder_cache(rows)
        return memory[rows], attended[rows], past

    return CachedDecoder(start=start, step=step, reorder=reorder)


def _hugging_face_maps(model: Any, mask: Any) -> Any:
    """Give what asks for the weights; None where a fused kernel never has them."""
    if getattr(model.config, "_attn_implementation", "") != "eager":
        return None

    def attention(src: Tensor, tgt_in: Tensor) -> dict[str, Tensor]:
        found = model(
            input_ids=src,
            attention_mask=mask(src),
            decoder_input_ids=tgt_in,
            output_attentions=True,
        )
        stacks = ("encoder_attentions", "decoder_attentions", "cross_attentions")
        return {
            f"{stack} {layer}": weights
            for stack in stacks
            for layer, weights in enumerate(found[stack])
        }

    return attention


class _HuggingFaceSearch:
    """The library's `generate`, with nothing forced and no length penalty."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def greedy(self, src: Tensor, length: int) -> list[list[int]]:
        """Give each row's ids."""
        found = self._generate(src, length, num_beams=1)
        return [self._cut(row)[0] for row in found.sequences.tolist()]

    def beam(self, src: Tensor, beam_size: int, length: int) -> list[list[Candidate]]:
        """Give each row's candidates."""
        if beam_size == 1:  # `generate` has no sums of greedy search
            sums = {"output_logits": True}
            found = self._generate(src, length, num_beams=1, **sums)
            steps = torch.stack(found.logits, dim=1).log_softmax(dim=-1)
            said = [self._cut(row) for row in found.sequences.tolist()]
            eos = self.model.config.eos_token_id
            return [
                [Candidate(ids, _sum(steps[row], [*ids, eos] if ended else ids), ended)]
                for row, (ids, ended) in enumerate(said)
            ]
        beams = {"num_beams": beam_size, "num_return_sequences": beam_size}
        found = self._generate(src, length, length_penalty=0.0, output_scores=True, **beams)
        said = [self._cut(row) for row in found.sequences.tolist()]
        candidates = [
            Candidate(ids, score, ended)
            for (ids, ended), score in zip(said, found.sequences_scores.tolist(), strict=True)
        ]
        return [candidates[i : i + beam_size] for i in range(0, len(candidates), beam_size)]

    def _generate(self, src: Tensor, length: int, **options: Any) -> Any:
        return self.model.generate(
            src,
            attention_mask=(src != self.model.config.pad_token_id).long(),
            max_new_tokens=length,
            do_sample=False,
            forced_eos_token_id=None,
            return_dict_in_generate=True,
            **options,
        )

    def _cut(self, row: list[int]) -> tuple[list[int], bool]:
        """Cut a row, which begins with bos, at its eos; tell whether it has one."""
        eos, said = self.model.config.eos_token_id, row[1:]
        return (said[: said.index(eos)], True) if eos in said else (said, False)


def _sum(log_probs: Tensor, ids: list[int]) -> float:
    return sum(float(log_probs[place, token]) for place, token in enumerate(ids))


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
