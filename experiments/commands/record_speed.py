"""`record export` and `record decoding`: how fast translation is, and what makes it so.

Not in the paper.
"""

import argparse
from typing import Any

from experiments.commands.command import Command, record_file
from transformer.cli.parser import add_model


def record_export(options: argparse.Namespace) -> int:
    """Measure a model's speed in other engines beside ours; write and print the ratios."""
    from experiments import export_speed

    record = export_speed.record_speed(options.model, record_file(export_speed.RECORD))
    for engine, found in record["figures"].items():
        print(_line(engine, found))
    for engine, found in record["with_beams"].items():
        print(_line(f"{engine}, with beams", found))
    return 0


def record_decoding(options: argparse.Namespace) -> int:
    """Measure each change that makes decoding faster, alone; write and print the ratios."""
    from experiments import decoding_steps

    record = decoding_steps.record_steps(options.model, record_file(decoding_steps.RECORD))
    for change in record["changes"]:
        print(f"{change['name']}: {change['before'] / change['after']:.2f} times as fast")
    return 0


def _line(engine: str, found: dict[str, Any]) -> str:
    alone, together = (found[way]["times_our_speed"] for way in ("one_by_one", "together"))
    return (
        f"{engine}: {found['equal']} of {found['sentences']} translations equal; "
        f"{together} times our speed, one by one {alone}"
    )


SPEED = (
    Command(
        "export",
        "measure how fast one exported model is beside ours, for data/results/bench",
        record_export,
        "de-en",
        add_model,
    ),
    Command(
        "decoding",
        "measure each change that makes decoding faster, before and after, for data/results/bench",
        record_decoding,
        "de-en",
        add_model,
    ),
)
