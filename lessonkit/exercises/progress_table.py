"""The table of progress: what of each lesson is done, and what comes next (not in the paper)."""

from lessonkit.exercises import learner_file, wording
from lessonkit.exercises.message import Message
from lessonkit.exercises.progress import read_progress

PROGRESS_ROW_FORMAT = "{:6}  {:9}  {:15}  {:9}  {}"


def show_progress() -> Message:
    """Print how many gaps, exercises and predictions of each lesson are done, and what comes next.

    It counts what has passed in cells run in this folder, and what `my_transformer.py` has.
    """
    names = read_progress()
    right = {*names["right"], *learner_file.saved_exercise_names()}
    predicted = set(names["predicted"])
    class_words = wording.read_lesson_wording("own").exercises
    lines = [
        PROGRESS_ROW_FORMAT.format("lesson", "gaps kept", "exercises right", "predicted", "next")
    ]
    next_steps = []
    for path in sorted(wording.WORDS_FOLDER.glob("[0-9][0-9].toml")):
        lesson = path.stem
        lesson_wording = wording.read_lesson_wording(lesson)
        exercises = lesson_wording.exercises
        predictions = list(lesson_wording.predictions)
        classes = [name for name, entry in class_words.items() if entry["lesson"] == lesson]
        gaps = [name for name, entry in exercises.items() if "gap" in entry] + classes
        others = [name for name, entry in exercises.items() if "gap" not in entry]

        todo = [
            f"my_{name}" if name in exercises else name
            for name in gaps + others
            if name not in right
        ]
        todo += [f"ex.{name}" for name in predictions if name not in predicted]
        row = PROGRESS_ROW_FORMAT.format(
            lesson,
            _format_done_count(gaps, right),
            _format_done_count(others, right),
            _format_done_count(predictions, predicted),
            todo[0] if todo else "done",
        )
        lines.append(row)
        if todo:
            next_steps.append(f"Next: {todo[0]}, in lesson {lesson}.")
    return Message("\n".join([*lines, *next_steps[:1]])).printed()


def _format_done_count(names: list[str], done: set[str]) -> str:
    return f"{len(done.intersection(names))} of {len(names)}"
