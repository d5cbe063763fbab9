"""Which broken laws one cause explains (not in the paper)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Cause(NamedTuple):
    """A cause that breaks several laws at once."""

    words: str  # what it is, and where to look
    signs: frozenset[str]  # laws that it breaks for certain
    others: frozenset[str]  # laws that it may break too


_SEARCH_AND_CACHE_LAWS = frozenset(
    (
        "cached_decoding_matches_forward",
        "cache_reorders_with_beams",
        "cache_starts_empty",
        "greedy_search_matches_forward",
        "beam_log_probs_match_forward",
        "wide_beam_finds_the_best",
    )
)
# The more laws a cause must break, the earlier it stands.
CAUSES = (
    Cause(
        "heads and positions are mixed: look at each view and reshape, before which a transpose "
        "may be missing",
        frozenset(
            (
                "source_padding_is_ignored",
                "target_padding_is_ignored",
                "batch_rows_are_independent",
            )
        ),
        # What is mixed in the order of positions does not see the future.
        frozenset(
            (
                "decoder_is_causal",
                "logits_depend_on_all_source_tokens",
                "logits_depend_on_all_previous_tokens",
                "token_order_matters",
                "residual_paths_carry_the_input",
            )
        )
        | _SEARCH_AND_CACHE_LAWS,
    ),
    Cause(
        "the decoder sees what follows: look at its causal mask",
        frozenset(("decoder_is_causal", "target_padding_is_ignored")),
        frozenset(("batch_rows_are_independent", "masked_keys_get_no_weight"))
        | _SEARCH_AND_CACHE_LAWS,
    ),
    Cause(
        "the source's padding is attended to: look at its mask, in the encoder and in "
        "cross-attention",
        frozenset(("source_padding_is_ignored", "batch_rows_are_independent")),
        frozenset(("masked_keys_get_no_weight", "encode_then_decode_matches_forward"))
        | _SEARCH_AND_CACHE_LAWS,
    ),
    Cause(
        "the optimizer holds other weights than the model: look at where it is made",
        frozenset(("optimizer_holds_all_parameters", "train_step_updates_all_weights")),
        frozenset(("model_can_overfit_a_batch", "model_can_learn_to_copy")),
    ),
    Cause(
        "the loss counts padding: look at ignore_index, and at what the sum is divided by",
        frozenset(("loss_ignores_padding", "loss_weighs_tokens_equally")),
        frozenset(),
    ),
    Cause(
        "the decoder does not read the source: look at the memory and the mask of cross-attention",
        frozenset(("logits_depend_on_all_source_tokens",)),
        frozenset(
            (
                "token_order_matters",
                "residual_paths_carry_the_input",
                "encoder_is_contextual",
                "gradients_reach_all_parameters",
            )
        ),
    ),
)


class GroupOfBreaks(NamedTuple):
    """Broken laws that one cause may explain."""

    laws: tuple[str, ...]
    cause: str  # in words for a reader

    def __str__(self) -> str:
        """Return the laws and the cause as one line."""
        return f"{', '.join(self.laws)}: {self.cause}"


def group_breaks_by_cause(
    broken_laws: Iterable[str], where_by_law: Mapping[str, str] | None = None
) -> list[GroupOfBreaks]:
    """Return groups of two or more broken laws that one cause may explain, the likeliest first.

    Args:
        broken_laws: Names, in the order of the report.
        where_by_law: The module at fault of those for which it was found: those that one cause
            leaves over and that lie in one module are a group, too.
    """
    rest = list(broken_laws)
    groups = []
    for cause in CAUSES:
        explained = tuple(law for law in rest if law in cause.signs | cause.others)
        if cause.signs <= set(rest) and len(explained) > 1:
            groups.append(GroupOfBreaks(explained, cause.words))
            rest = [law for law in rest if law not in explained]
    laws_by_module: dict[str, list[str]] = defaultdict(list)
    for law in rest:
        if where := (where_by_law or {}).get(law):
            laws_by_module[where].append(law)
    groups += [
        GroupOfBreaks(tuple(laws), f"all of them come from {where}")
        for where, laws in laws_by_module.items()
        if len(laws) > 1
    ]
    return groups
