"""The laws, the cheapest first."""

from attention_laws.law import Law
from attention_laws.laws import (
    batches,
    cache,
    future,
    learning,
    loss,
    output,
    parameters,
    positions,
    reach,
    schedule,
    scores,
    search,
    start,
    text,
    weights,
    wiring,
)

# `schedule` is the first that trains: it counts the steps from the first.
LAWS: tuple[Law, ...] = (
    *(*output.LAWS, *batches.LAWS, *loss.LAWS, *future.LAWS, *reach.LAWS, *positions.LAWS),
    *(*weights.LAWS, *wiring.LAWS, *start.LAWS, *output.NUMBER_LAWS, *schedule.LAWS),
    *(*parameters.LAWS, *cache.LAWS, *search.LAWS, *learning.LAWS),
)
PIPELINE_LAWS: tuple[Law, ...] = (*scores.LAWS, *text.LAWS)
