"""Attention weights as a file: numbers (.json) or a picture (.png). Not in the paper."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from transformer.models.translator import TranslationWithAttention, Translator
from transformer.support.errors import UserError
from transformer.support.files import check_writable_file, write_atomically, write_json


def check_attention_file(path: Path) -> None:
    """Refuse, with a UserError, a file that `write_attention_file` could not write."""
    if path.suffix not in (".json", ".png"):
        raise UserError(f"--attention {path}: give a name that ends in .json or .png")
    check_writable_file(path)


def write_attention_file(
    path: Path, translator: Translator, sentences: Sequence[str], beam_size: int
) -> None:
    """Write the attention of translated sentences, as `translate --attention FILE` does.

    As .json every weight: a list with, for each sentence that is not empty, translation,
    src_tokens, tgt_tokens, and encoder, decoder and cross as nested lists (layer, head, query,
    key). As .png the cross-attention of the last layer, of the first such sentence. A UserError
    where there is nothing to show.
    """
    check_attention_file(path)
    shown = [sentence for sentence in sentences if sentence.strip()]
    if not shown:
        raise UserError(f"--attention {path}: every sentence is empty, there is nothing to show")
    if path.suffix == ".json":
        write_json(
            path, [_attention_to_json(translator.attention(text, beam_size)) for text in shown]
        )
    else:
        write_atomically(path, _draw_cross_attention_png(translator.attention(shown[0], beam_size)))


def _attention_to_json(attention: TranslationWithAttention) -> dict[str, object]:
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


def _draw_cross_attention_png(attention: TranslationWithAttention) -> bytes:
    try:
        from matplotlib import pyplot as plt

        from lessonkit.charts.attention import draw_heads, require_attention
    except ImportError as error:
        raise UserError(f"a picture needs {error.name}: pip install {error.name}") from error
    require_attention(attention)
    title, drawn = "Cross-attention of the last layer", BytesIO()
    weights = attention.maps.cross[-1, 0]
    figure = draw_heads(weights, attention.tgt_tokens, attention.src_tokens, title)
    figure.savefig(drawn, format="png", dpi=150)
    plt.close(figure)
    return drawn.getvalue()
