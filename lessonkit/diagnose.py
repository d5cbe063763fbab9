"""The command `diagnose`: the laws tried on a model folder of the course, or on anybody's code.

Not in the paper.
"""

import argparse
from pathlib import Path

from attention_laws import command_line, diagnose, diagnose_pipeline
from attention_laws.report import Report
from lessonkit.adapters import adapt_folder


def run_diagnose_command(options: argparse.Namespace) -> int:
    """Try the laws on a folder or on code, print the report, and return the exit status."""
    # A folder may have a colon in its name, too: C:\runs\demo.
    if ":" in options.target and not Path(options.target).is_dir():
        return command_line.main(_to_attention_laws_arguments(options))
    adapter, pipeline = adapt_folder(options.target)
    report = diagnose(adapter, minute=options.minute)
    pipeline_report = diagnose_pipeline(pipeline)
    both = Report(
        lines=(*report.lines, *pipeline_report.lines),
        assumptions=report.assumptions,
        tolerance=report.tolerance,
        stopped=report.stopped,
    )
    print(both.to_json() if options.json else both)
    return both.exit_status


def _to_attention_laws_arguments(options: argparse.Namespace) -> list[str]:
    """Return the arguments of `python -m attention_laws` that say the same."""
    arguments = []
    if options.minute:
        arguments.append("--minute")
    if options.json:
        arguments.append("--json")
    if options.length_first:
        arguments.append("--length-first")
    for name in ("pad", "bos", "eos"):
        token_id = getattr(options, name)
        if token_id is not None:
            arguments.append(f"--{name}={token_id}")
    return [*arguments, options.target]
