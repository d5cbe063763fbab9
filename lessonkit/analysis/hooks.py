"""What the interventions share: a sentence's ids, the network asked for, where the decoder is.

Not in the paper.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from transformer.data.batches import collate_sources
from transformer.model import Decoder, Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

_CALL = signature(Decoder.forward)


def source_of(translator: Translator, sentence: str) -> Tensor:
    """Give a sentence's ids with its end mark, (1, src_len).

    Raises:
        UserError: the sentence is blank.
    """
    if not sentence.strip():
        raise UserError("an empty sentence has nothing to take away: give some words")
    ids = translator.src_tokenizer.encode(sentence)
    return collate_sources([ids]).to(translator.device)


def network_of(translator: Translator) -> Transformer:
    """Give a translator's network.

    Raises:
        UserError: it is recurrent.
    """
    if not isinstance(translator.model, Transformer):
        raise UserError("a recurrent network has no heads and no such masks: give a Transformer")
    return translator.model


@contextmanager
def target_start(model: Transformer) -> Iterator[Callable[[], int]]:
    """Know where in the target each call of the decoder begins.

    A search with a cache gives the decoder one token at a time; what is to happen at place 3
    of the target happens at the first place of such a call.

    Args:
        model: Watched inside the `with` block.

    Returns:
        A function that gives the place, from 0, of the call that is running.
    """
    begun = [0]

    def note(_: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        cache = _CALL.bind(model.decoder, *args, **kwargs).arguments.get("cache")
        begun[0] = 0 if cache is None else cache.length

    with model.decoder.register_forward_pre_hook(note, with_kwargs=True):
        yield lambda: begun[0]
