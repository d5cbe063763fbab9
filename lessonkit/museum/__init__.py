"""The museum of faults: a sound Transformer, and a hundred changes of its code that break it.

Not in the paper. `faults.toml` has them all.
"""

from lessonkit.museum.fault import Fault, read_faults
from lessonkit.museum.sound import sound_adapter

FAULTS = read_faults()

__all__ = ["FAULTS", "Fault", "sound_adapter"]
