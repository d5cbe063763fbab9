"""What the lessons draw, ask and check: `charts`, `analysis`, `exercises`.

`from lessonkit import renderer, trace` gives what the doors of charts and analysis give, and the
records; each name is loaded when it is first used.
"""

from importlib import import_module
from typing import Any

DOORS = ("charts", "analysis")
DOOR = {
    "analysis": ("compare",),
    "charts": ("renderer",),
    "museum": ("FAULTS", "sound_adapter"),
    "museum.trainable": ("builder_with_faults",),
    "records": (
        *("READINGS", "course_profile", "load_result", "load_runs", "origin", "run_folder"),
        "scores",
    ),
}
_WHERE = {name: module for module, names in DOOR.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        module = import_module(f"{__name__}.{_WHERE[name]}")
        return getattr(module, name, None) or import_module(f"{module.__name__}.{name}")
    for room in (import_module(f"{__name__}.{door}") for door in DOORS if name not in DOORS):
        if any(name in names for names in room.DOOR.values()):
            return getattr(room, name)
    raise AttributeError(f"lessonkit has no {name!r}")
