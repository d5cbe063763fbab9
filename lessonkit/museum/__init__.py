"""The museum of faults: a sound Transformer, and small variations of it that are not.

Not in the paper.
"""

from lessonkit.museum import (
    attention,
    decoding,
    embeddings,
    layers,
    masks,
    positions,
    text,
    training,
)
from lessonkit.museum.sound import sound
from lessonkit.museum.specimen import Specimen

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
