"""The museum of faults: a sound Transformer, and a hundred changes of its code that break it.

Not in the paper. `specimens.toml` has them all.
"""

from lessonkit.museum.sound import sound
from lessonkit.museum.specimen import Specimen, read_specimens

SPECIMENS = read_specimens()

__all__ = ["SPECIMENS", "Specimen", "sound"]
