"""The laws, the cheapest first."""

from attention_laws.law import Law
from attention_laws.laws import (
    batches,
    cache,
    future,
    half,
    learning,
    loss,
    modes,
    output,
    padding,
    parameters,
    positions,
    reach,
    schedule,
    scores,
    search,
    start,
    text,
    tying,
    weights,
    wiring,
)

# `schedule` is the first that trains: it counts the steps from the first.
LAWS: tuple[Law, ...] = (
    *output.LAWS,
    *modes.LAWS,
    *batches.LAWS,
    *loss.LAWS,
    *future.LAWS,
    *padding.LAWS,
    *reach.LAWS,
    *positions.LAWS,
    *weights.LAWS,
    *wiring.LAWS,
    *start.LAWS,
    *tying.LAWS,
    *half.LAWS,
    *schedule.LAWS,
    *parameters.LAWS,
    *cache.LAWS,
    *search.LAWS,
    *learning.LAWS,
)
PIPELINE_LAWS: tuple[Law, ...] = (*scores.LAWS, *text.LAWS)
