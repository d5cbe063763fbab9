"""What models and machines are asked in the lessons; every name loads its own file on first use.

`from lessonkit.analysis import trace, ablate_heads`: below is where each name lives.
"""

from importlib import import_module
from typing import Any

DOOR = {
    "ablation": ("EDGE_KINDS", "Ablation", "translate_without_each_head"),
    "activations": ("mean_head_outputs", "next_token_probabilities"),
    "alignment": ("alignment_error_rate", "diagonal_links", "word_attention"),
    "articles": ("article_cases", "carried_articles", "first_articles", "gender_pairs"),
    "beam_tree": ("grow_beam_tree",),
    "compare": (
        "chance_of",
        "difference_interval",
        "difference_p",
        "margin",
        "mean_interval",
        "paired_bootstrap",
        "verdict",
    ),
    "costs": (
        "convolutions_needed",
        "counted",
        "forward_flops",
        "make_layer",
        "measure_seconds",
        "step_flops",
        "ways",
    ),
    "heads": ("Head", "all_heads", "head_table"),
    "interventions": ("MaskedSource", "ablate_heads", "patch_heads"),
    "machines": (
        "MACHINES",
        "SUSTAINED",
        "attainable",
        "cpu_seconds",
        "exchange_seconds",
        "in_two_processes",
        "intensity",
        "megabytes_kept",
        "one_thread",
        "product_flops",
        "product_seconds",
        "shares",
        "this_machine",
        "training_cost",
    ),
    "noise": ("gradient_noise",),
    "roles": ("QUESTIONS", "ask"),
    "scores": ("from_memory", "holm", "score_five_ways"),
    "table_3": ("TABLE_3", "expected_parameters"),
    "text": ("measure", "plans"),
    "tracing": ("trace",),
}
_HOME = {name: module for module, names in DOOR.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"lessonkit.analysis has no {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
