"""What lessons draw: `from lessonkit.charts import schedule_explorer`.

`draw_...` draws with matplotlib into axes that it is given; `..._explorer` returns a chart that
moves without a kernel; a `..._box` is a line to type in. Each name is loaded when it is first used.
"""
# ruff: noqa: F401 (type checkers and editors use the imports of TYPE_CHECKING)

from typing import TYPE_CHECKING

from transformer.support.exports import lazy_exports

# The exported names, by the module that defines them. The block below repeats them for editors.
EXPORTED_NAMES_BY_MODULE = {
    "ablation": ("ablation_explorer",),
    "alignment": ("draw_alignment",),
    "all_reduce": ("TrainingStepCost", "all_reduce_explorer"),
    "architecture": ("draw_architecture",),
    "attention": ("attention_explorer", "draw_attention", "draw_heads", "draw_mask"),
    "batches": ("TokenGrid", "batch_explorer", "draw_token_grid"),
    "decoding": ("beam_explorer", "sampling_explorer"),
    "head_tables": ("draw_head_ablations", "draw_head_grid", "draw_head_role_shares"),
    "heads": ("heads_explorer",),
    "label_smoothing": ("label_smoothing_explorer",),
    "layer_costs": ("draw_attention_paths", "draw_recurrence", "layer_costs_explorer"),
    "lengths": ("draw_length_pairs", "draw_side_lengths", "sentence_lengths_png"),
    "ngrams": ("draw_ngram_matches",),
    "p_values": ("draw_holm", "draw_p_value"),
    "parse_tree": ("draw_parse_tree",),
    "positions": (
        "draw_rotation",
        "draw_similarity_by_distance",
        "draw_waves",
        "position_explorer",
    ),
    "roofline": ("roofline_explorer",),
    "schedule": ("schedule_explorer",),
    "significance": ("differences_explorer", "power_explorer"),
    "trace": ("trace_explorer",),
    "training_curves": ("draw_gradient_norms_by_layer", "draw_loss", "draw_training_losses"),
    "variant_differences": ("draw_variant_differences",),
    "widgets": ("attention_widget", "interactive_widget"),
}
__all__, __dir__, __getattr__ = lazy_exports(__name__, EXPORTED_NAMES_BY_MODULE)

if TYPE_CHECKING:
    from lessonkit.charts.ablation import ablation_explorer
    from lessonkit.charts.alignment import draw_alignment
    from lessonkit.charts.all_reduce import TrainingStepCost, all_reduce_explorer
    from lessonkit.charts.architecture import draw_architecture
    from lessonkit.charts.attention import attention_explorer, draw_attention, draw_heads, draw_mask
    from lessonkit.charts.batches import TokenGrid, batch_explorer, draw_token_grid
    from lessonkit.charts.decoding import beam_explorer, sampling_explorer
    from lessonkit.charts.head_tables import (
        draw_head_ablations,
        draw_head_grid,
        draw_head_role_shares,
    )
    from lessonkit.charts.heads import heads_explorer
    from lessonkit.charts.label_smoothing import label_smoothing_explorer
    from lessonkit.charts.layer_costs import (
        draw_attention_paths,
        draw_recurrence,
        layer_costs_explorer,
    )
    from lessonkit.charts.lengths import draw_length_pairs, draw_side_lengths, sentence_lengths_png
    from lessonkit.charts.ngrams import draw_ngram_matches
    from lessonkit.charts.p_values import draw_holm, draw_p_value
    from lessonkit.charts.parse_tree import draw_parse_tree
    from lessonkit.charts.positions import (
        draw_rotation,
        draw_similarity_by_distance,
        draw_waves,
        position_explorer,
    )
    from lessonkit.charts.roofline import roofline_explorer
    from lessonkit.charts.schedule import schedule_explorer
    from lessonkit.charts.significance import differences_explorer, power_explorer
    from lessonkit.charts.trace import trace_explorer
    from lessonkit.charts.training_curves import (
        draw_gradient_norms_by_layer,
        draw_loss,
        draw_training_losses,
    )
    from lessonkit.charts.variant_differences import draw_variant_differences
    from lessonkit.charts.widgets import attention_widget, interactive_widget
