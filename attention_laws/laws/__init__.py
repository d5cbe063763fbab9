"""The laws, the cheapest first."""

from attention_laws.law import laws_of
from attention_laws.laws import (
    batches,
    cache,
    future,
    learning,
    loss,
    output,
    parameters,
    reach,
    schedule,
    scores,
    search,
    sixteen_bits,
    start,
    text,
    weights,
    wiring,
)

# `schedule` is the first that trains: it counts the steps from the first.
LAWS = laws_of(
    *(output, batches, loss, future, reach, weights, wiring, start, sixteen_bits),
    *(schedule, parameters, cache, search, learning),
)
PIPELINE_LAWS = laws_of(scores, text)
