"""What lessons draw: `from lessonkit.charts import schedule_explorer`.

`draw_...` draws with matplotlib into axes that it is given; `..._explorer` returns a chart that
moves without a kernel; a `..._box` is a line to type in. Each name is loaded when it is first used.
"""
# ruff: noqa: F401 (type checkers and editors use the imports of TYPE_CHECKING)

from typing import TYPE_CHECKING

from transformer.support.exports import lazy_exports

# The exported names, by the module that defines them. The block below repeats them for editors.
EXPORTS = {
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
__all__, __dir__, __getattr__ = lazy_exports(__name__, EXPORTS)

if TYPE_CHECKING:
    from lessonkit.charts.ablation import ablation_explorer
    from lessonkit.charts.attention import attention_explorer, draw_attention, draw_heads, draw_mask
    from lessonkit.charts.batches import TokenGrid, batch_explorer, draw_tokens
    from lessonkit.charts.boxes import play_box, sentence_box
    from lessonkit.charts.costs import costs_explorer, draw_attentive, draw_recurrent
    from lessonkit.charts.curves import draw_gradients, draw_loss, draw_symptoms
    from lessonkit.charts.decoding import beam_explorer, sampling_explorer
    from lessonkit.charts.heads import (
        draw_head_grid,
        draw_head_shares,
        draw_removals,
        heads_explorer,
    )
    from lessonkit.charts.here import you_are_here
    from lessonkit.charts.machines import Shared, exchange_explorer, roofline_explorer
    from lessonkit.charts.positions import draw_similarity, draw_turn, draw_waves, position_explorer
    from lessonkit.charts.seeds import chance_explorer, readings_explorer
    from lessonkit.charts.sentences import draw_alignment, draw_tree
    from lessonkit.charts.trace import trace_explorer
    from lessonkit.charts.training import label_smoothing_explorer, schedule_explorer
