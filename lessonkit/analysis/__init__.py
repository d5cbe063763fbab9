"""What models and machines are asked in the lessons; each name is loaded when it is first used.

`from lessonkit.analysis import trace, ablate_heads`: below is where each name lives.
"""
# ruff: noqa: F401 (type checkers and editors use the imports of TYPE_CHECKING)

from typing import TYPE_CHECKING

from transformer.support.exports import lazy_exports

# The exported names, by the module that defines them. The block below repeats them for editors.
EXPORTED_NAMES_BY_MODULE = {
    "ablation": ("AblationSpec", "EDGE_KIND_BY_STACK", "translate_without_each_head"),
    "activations": ("mean_head_outputs", "next_token_probabilities"),
    "alignment": ("alignment_error_rate", "diagonal_links", "word_attention"),
    "articles": ("find_article_cases", "count_correct_articles"),
    "gender_patching": ("count_patched_articles", "gender_pairs"),
    "beam_tree": ("grow_beam_tree",),
    "bleu_comparison": (
        "approximate_randomization_p_value",
        "bleu_from_counts",
        "compare_bleu",
        "resampled_bleu",
        "sentence_bleu_counts",
    ),
    "bleu_variants": ("score_five_ways",),
    "flops": ("count_flops_of_call", "forward_flops", "training_step_flops"),
    "heads": ("Head", "all_heads", "head_table"),
    "interventions": ("SourceMaskedModel", "ablate_heads", "patch_heads"),
    "layer_costs": (
        "count_convolutions_needed",
        "make_layer",
        "measure_seconds",
        "path_lengths",
    ),
    "lexicon": ("french_nouns_by_english",),
    "noise_scale": ("estimate_gradient_noise",),
    "padding": ("measure_padding", "plan_batches_by_each_rule"),
    "roles": ("ROLE_QUESTIONS", "measure_roles"),
    "roofline": (
        "MACHINES",
        "SUSTAINED_FLOPS_BY_GPU",
        "all_reduce_seconds",
        "arithmetic_intensity",
        "attainable_flops",
        "matmul_flops",
        "measure_matmul_seconds",
        "measure_this_machine",
        "training_flops",
    ),
    "saved_tensors": ("saved_megabytes",),
    "significance": (
        "ConfidenceInterval",
        "difference_interval",
        "difference_p_value",
        "holm_adjusted_p_values",
        "margin_of_error",
        "mean_interval",
        "one_sided_t_test",
        "t_critical_value",
        "difference_verdict",
    ),
    "table_3": ("TABLE_3", "expected_num_parameters"),
    "timing": ("min_process_seconds", "computing_on_single_thread", "operation_time_shares"),
    "tracing": ("trace_translation",),
    "two_processes": ("run_script_in_two_processes",),
    "variant_comparison": ("WORTH_BY_MEASURE", "compare_variants", "measure_values"),
}
__all__, __dir__, __getattr__ = lazy_exports(__name__, EXPORTED_NAMES_BY_MODULE)

if TYPE_CHECKING:
    from lessonkit.analysis.ablation import (
        EDGE_KIND_BY_STACK,
        AblationSpec,
        translate_without_each_head,
    )
    from lessonkit.analysis.activations import mean_head_outputs, next_token_probabilities
    from lessonkit.analysis.alignment import alignment_error_rate, diagonal_links, word_attention
    from lessonkit.analysis.articles import count_correct_articles, find_article_cases
    from lessonkit.analysis.beam_tree import grow_beam_tree
    from lessonkit.analysis.bleu_comparison import (
        approximate_randomization_p_value,
        bleu_from_counts,
        compare_bleu,
        resampled_bleu,
        sentence_bleu_counts,
    )
    from lessonkit.analysis.bleu_variants import score_five_ways
    from lessonkit.analysis.flops import count_flops_of_call, forward_flops, training_step_flops
    from lessonkit.analysis.gender_patching import count_patched_articles, gender_pairs
    from lessonkit.analysis.heads import Head, all_heads, head_table
    from lessonkit.analysis.interventions import SourceMaskedModel, ablate_heads, patch_heads
    from lessonkit.analysis.layer_costs import (
        count_convolutions_needed,
        make_layer,
        measure_seconds,
        path_lengths,
    )
    from lessonkit.analysis.lexicon import french_nouns_by_english
    from lessonkit.analysis.noise_scale import estimate_gradient_noise
    from lessonkit.analysis.padding import measure_padding, plan_batches_by_each_rule
    from lessonkit.analysis.roles import ROLE_QUESTIONS, measure_roles
    from lessonkit.analysis.roofline import (
        MACHINES,
        SUSTAINED_FLOPS_BY_GPU,
        all_reduce_seconds,
        arithmetic_intensity,
        attainable_flops,
        matmul_flops,
        measure_matmul_seconds,
        measure_this_machine,
        training_flops,
    )
    from lessonkit.analysis.saved_tensors import saved_megabytes
    from lessonkit.analysis.significance import (
        ConfidenceInterval,
        difference_interval,
        difference_p_value,
        difference_verdict,
        holm_adjusted_p_values,
        margin_of_error,
        mean_interval,
        one_sided_t_test,
        t_critical_value,
    )
    from lessonkit.analysis.table_3 import TABLE_3, expected_num_parameters
    from lessonkit.analysis.timing import (
        computing_on_single_thread,
        min_process_seconds,
        operation_time_shares,
    )
    from lessonkit.analysis.tracing import trace_translation
    from lessonkit.analysis.two_processes import run_script_in_two_processes
    from lessonkit.analysis.variant_comparison import (
        WORTH_BY_MEASURE,
        compare_variants,
        measure_values,
    )
