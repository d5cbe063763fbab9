"""The door to what lessons draw: `from lessonkit.charts import schedule_explorer`.

`draw_...` draws with matplotlib into axes that it is given; `..._explorer` gives a chart that moves
without a kernel; a `..._box` is a line to type in. A name is loaded when it is first used.
"""

from importlib import import_module
from typing import Any

DOOR = {
    "attention": ("attention_explorer", "draw_attention", "draw_heads", "draw_mask"),
    "batches": ("TokenGrid", "batch_explorer", "draw_tokens"),
    "boxes": ("play_box", "sentence_box"),
    "costs": ("costs_explorer", "draw_attentive", "draw_recurrent"),
    "curves": ("draw_gradients", "draw_loss", "draw_symptoms"),
    "decoding": ("beam_explorer", "sampling_explorer"),
    "heads": ("draw_head_grid", "draw_head_shares", "draw_removals", "heads_explorer"),
    "here": ("you_are_here",),
    "ablation": ("ablation_explorer",),
    "machines": ("Shared", "exchange_explorer", "roofline_explorer"),
    "positions": ("draw_similarity", "draw_turn", "draw_waves", "position_explorer"),
    "seeds": ("chance_explorer", "readings_explorer"),
    "sentences": ("draw_alignment", "draw_tree"),
    "trace": ("trace_explorer",),
    "training": ("label_smoothing_explorer", "schedule_explorer"),
}
_WHERE = {name: module for module, names in DOOR.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
