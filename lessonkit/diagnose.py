"""What the command `diagnose` does: which law does a model's code break? Not in the paper."""

import argparse
from pathlib import Path

import attention_laws.__main__ as attention_laws_command
from attention_laws import diagnose, diagnose_pipeline
from attention_laws.report import Report
from lessonkit.subjects import from_folder


def diagnose_target(options: argparse.Namespace) -> int:
    """Try the laws on what is named, and print the report: `attention-laws` does it for code."""
    if ":" in options.target and not Path(options.target).is_dir():  # as C:\runs\demo
        flags = ["--minute"] * options.minute + ["--json"] * options.json
        flags += ["--length-first"] * options.length_first
        for name in ("pad", "bos", "eos"):
            if (number := getattr(options, name)) is not None:
                flags.append(f"--{name}={number}")
        return attention_laws_command.main([*flags, options.target])
    adapter, pipeline = from_folder(options.target)
    reports = diagnose(adapter, minute=options.minute), diagnose_pipeline(pipeline)
    lines = tuple(line for report in reports for line in report.lines)
    first = reports[0]
    report = Report(lines, first.assumptions, first.tolerance, first.stopped)
    print(report.to_json() if options.json else report)
    return report.exit_status
