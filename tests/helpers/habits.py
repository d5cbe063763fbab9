"""Attention maps of heads with known habits, for sentences whose words have one piece each."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from transformer.data.embedded_corpus import TrilingualSentence, detokenize, embedded
from transformer.model import AttentionMaps
from transformer.models.translator import Translator

SHIFTS = {"itself": 0, "before": -1, "next": 1, "second": 2}


def of_habits(*kinds: str) -> Callable[[Tensor, Tensor], AttentionMaps]:
    """Return a function in the place of `attention_maps`: a head of each kind in every stack."""

    def looking(kind: str, q_len: int, k_len: int) -> Tensor:
        if kind == "even":
            return torch.full((q_len, k_len), 1 / k_len)
        places = torch.zeros(q_len, dtype=torch.long)  # "first"
        if kind in SHIFTS:
            places = (torch.arange(q_len) + SHIFTS[kind]).clamp(0, k_len - 1)
        return torch.eye(k_len)[places]

    def maps(src: Tensor, tgt_in: Tensor) -> AttentionMaps:
        src_len, tgt_len = src.shape[1], tgt_in.shape[1]
        shapes = ((src_len, src_len), (tgt_len, tgt_len), (tgt_len, src_len))
        heads = (torch.stack([looking(kind, *shape) for kind in kinds]) for shape in shapes)
        return AttentionMaps(*(each[None, None] for each in heads))

    return maps


def one_piece_each(translator: Translator, most: int) -> Sequence[TrilingualSentence]:
    """Return the first sentences of the test set whose English words have one piece each."""
    encode = translator.src_tokenizer.encode
    return [
        each
        for each in embedded.sentences("test")
        if len(encode(detokenize(each.en, "en"))) == len(each.en.split())
    ][:most]
