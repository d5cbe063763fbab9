"""The museum of faults: a sound Transformer, and small variations of it that are not.

Not in the paper.
"""

from transformer.diagnostics.museum import (
    attention,
    decoding,
    embeddings,
    layers,
    masks,
    positions,
    text,
    training,
)
from transformer.diagnostics.museum.sound import sound
from transformer.diagnostics.museum.specimen import Specimen

SPECIMENS: tuple[Specimen, ...] = (
    *masks.SPECIMENS,
    *attention.SPECIMENS,
    *positions.SPECIMENS,
    *embeddings.SPECIMENS,
    *layers.SPECIMENS,
    *training.SPECIMENS,
    *decoding.SPECIMENS,
    *text.SPECIMENS,
)

__all__ = ["SPECIMENS", "Specimen", "sound"]
