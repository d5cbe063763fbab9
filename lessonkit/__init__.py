"""What the lessons draw, ask and check: `charts`, `analysis`, `exercises`.

`from lessonkit import renderer, trace`: what charts and analysis export is exported here too, with
the records and the museum. Each name is loaded when it is first used.
"""
# ruff: noqa: F401, F403 (type checkers and editors use the imports of TYPE_CHECKING)
# ruff: noqa: E402 (the course's package comes before a learner's file of its name)

from typing import TYPE_CHECKING

from lessonkit.course_package import put_course_first

put_course_first()

from lessonkit.analysis import EXPORTED_NAMES_BY_MODULE as ANALYSIS_EXPORTS
from lessonkit.charts import EXPORTED_NAMES_BY_MODULE as CHARTS_EXPORTS
from transformer.support.exports import lazy_exports

# The exported names, by the module that defines them. The block below repeats them for editors.
EXPORTED_NAMES_BY_MODULE = {
    "charts": ("renderer",),
    "museum": ("FAULTS", "sound_adapter"),
    "museum.trainable": ("builder_with_faults",),
    "records": (
        "READINGS",
        "course_profile",
        "load_result",
        "load_runs",
        "describe_run",
        "lesson_run_folder",
        "limit_steps",
        "scores_by_variant",
    ),
    "lesson_training": ("train_or_resume",),
}
EXPORTED_NAMES_BY_MODULE |= {
    f"analysis.{module}": names for module, names in ANALYSIS_EXPORTS.items()
}
EXPORTED_NAMES_BY_MODULE |= {f"charts.{module}": names for module, names in CHARTS_EXPORTS.items()}
__all__, __dir__, __getattr__ = lazy_exports(__name__, EXPORTED_NAMES_BY_MODULE)

if TYPE_CHECKING:
    from lessonkit.analysis import *
    from lessonkit.charts import *
    from lessonkit.charts import renderer
    from lessonkit.lesson_training import train_or_resume
    from lessonkit.museum import FAULTS, sound_adapter
    from lessonkit.museum.trainable import builder_with_faults
    from lessonkit.records import (
        READINGS,
        course_profile,
        describe_run,
        lesson_run_folder,
        limit_steps,
        load_result,
        load_runs,
        scores_by_variant,
    )
