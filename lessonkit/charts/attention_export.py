"""Attention weights as a file: numbers (.json) or a picture (.png). Not in the paper."""

import warnings
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import torch

from transformer.config import BOS_ID, EOS_ID
from transformer.models.translator import TranslationWithAttention, Translator
from transformer.support.errors import UserError
from transformer.support.files import check_writable_file, write_atomically, write_json


def check_attention_output_path(
    path: Path, layer: int | None = None, head: int | None = None
) -> None:
    """Refuse, with a UserError, a file that `write_attention_file` could not write."""
    if path.suffix == ".json" and (layer is not None or head is not None):
        raise UserError(f"{path} holds every layer and head: leave --layer and --head out")
    if path.suffix not in (".json", ".png"):
        raise UserError(f"--attention {path}: give a name that ends in .json or .png")
    check_writable_file(path)


def check_attention_is_drawable(
    translator: Translator, layer: int | None, head: int | None
) -> None:
    """Refuse, with a UserError, a picture that this model cannot be drawn in, before any work.

    A layer and a head count from 1; None is any.
    """
    try:
        import matplotlib  # noqa: F401

        from lessonkit.charts.attention import check_has_attention, check_layer_and_head
    except ImportError as error:
        raise UserError(f"a picture needs {error.name}: pip install {error.name}") from error
    src = torch.tensor([[EOS_ID]], device=translator.device)
    maps = translator.model.attention_maps(src, torch.full_like(src, BOS_ID))
    check_has_attention(maps)
    check_layer_and_head(maps, layer, head)


def write_attention_file(
    path: Path,
    translator: Translator,
    sentences: Sequence[str],
    beam_size: int,
    layer: int | None = None,
    head: int | None = None,
) -> None:
    """Write the attention of translated sentences, as `translate --attention FILE` does.

    As .json every weight: a list with, for each sentence that is not empty, translation,
    src_tokens, tgt_tokens, and encoder, decoder and cross as nested lists (layer, head, query,
    key). As .png the cross-attention of the first such sentence: of a layer, from 1 (None: the
    last), and a head, from 1 (None: all). What a picture leaves out is said in a warning. A
    UserError where there is nothing to show.
    """
    check_attention_output_path(path, layer, head)
    shown = [sentence for sentence in sentences if not translator.src_tokenizer.is_blank(sentence)]
    if not shown:
        raise UserError(f"--attention {path}: every sentence is empty, there is nothing to show")
    if path.suffix == ".json":
        write_json(
            path,
            [_attention_to_json_object(translator.attention(text, beam_size)) for text in shown],
        )
    else:
        check_attention_is_drawable(translator, layer, head)
        attention = translator.attention(shown[0], beam_size)
        picture, left_out = _draw_cross_attention_png(attention, layer, head)
        write_atomically(path, picture)
        if len(shown) > 1:
            left_out.append(f"the {len(shown) - 1} other sentence{'s' * (len(shown) > 2)}")
        if left_out:
            ways = "" if head else "; --head H draws one head, larger"
            message = f"{path} leaves out {', and '.join(left_out)}{ways}; a .json has all"
            warnings.warn(message, stacklevel=2)


def _attention_to_json_object(attention: TranslationWithAttention) -> dict[str, object]:
    """Return plain values, weights to four decimals."""
    maps = attention.maps._asdict().items()
    return {
        "translation": attention.translation,
        "src_tokens": attention.src_tokens,
        "tgt_tokens": attention.tgt_tokens,
        **{name: _round_nested_numbers(weights[:, 0].tolist()) for name, weights in maps},
    }


def _round_nested_numbers(values: Any) -> Any:
    """Round every number in nested lists to four decimals."""
    return (
        [_round_nested_numbers(v) for v in values] if isinstance(values, list) else round(values, 4)
    )


def _draw_cross_attention_png(
    attention: TranslationWithAttention, layer: int | None, head: int | None
) -> tuple[bytes, list[str]]:
    """Return a picture, and what it leaves out of the attention, in words."""
    from matplotlib import pyplot as plt

    from lessonkit.charts.attention import draw_heads
    from lessonkit.charts.fonts import save_figure
    from lessonkit.charts.head_grid import plan_head_grid

    weights = attention.maps.cross[-1 if layer is None else layer - 1, 0]
    numbers = range(1, len(weights) + 1)
    if head is not None:
        weights, numbers = weights[head - 1 : head], range(head, head + 1)
    which = "the last layer" if layer is None else f"layer {layer}"
    queries, keys, drawn = attention.tgt_tokens, attention.src_tokens, BytesIO()
    figure = draw_heads(weights, queries, keys, f"Cross-attention of {which}", numbers)
    save_figure(figure, drawn, format="png", dpi=150)
    plt.close(figure)

    grid, left_out = plan_head_grid(len(weights), queries, keys), []
    if grid.label_every > 1:
        left_out.append(f"labels ({grid.label_every - 1} of {grid.label_every})")
    for side, tokens in (("target", queries), ("source", keys)):
        if grid.tokens_drawn < len(tokens):
            left_out.append(f"the last {len(tokens) - grid.tokens_drawn:,} {side} tokens")
    return drawn.getvalue(), left_out
