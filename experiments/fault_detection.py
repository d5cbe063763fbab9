"""Which law detects which fault, and what is sound and still called broken.

Not in the paper. `python -m experiments museum` makes the record,
`museum_tables_by_mark` the page of it.
"""

import random
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from attention_laws.laws import MODEL_LAWS, PIPELINE_LAWS
from attention_laws.report import Report, Verdict
from attention_laws.run import diagnose, diagnose_pipeline
from experiments.tables import markdown_table
from lessonkit.museum import FAULTS, sound_adapter
from lessonkit.museum.fault import BROKEN_LAWS_RECORD
from lessonkit.museum.pipeline import sound_pipeline
from transformer.support.files import read_json, write_json
from transformer.support.folders import results_folder
from transformer.support.provenance import provenance

MAX_LAWS_SHOWN_PER_FAULT = 3  # laws of a fault that the page names
RECORDED_VERDICTS = (Verdict.BROKEN, Verdict.WARNED, Verdict.NOTED)
NUM_SOUND_CONFIGS = 10  # configurations of the sound model that are diagnosed


def draw_sound_config(seed: int) -> dict[str, Any]:
    """Draw the settings of a sound model, as `sound_model` takes them."""
    draw = random.Random(seed)
    heads = draw.choice([1, 2, 4])
    positions = draw.choice(["sinusoidal", "learned", "concatenated"])
    joint = draw.random() < 0.5
    config: dict[str, Any] = {
        "d_model": heads * draw.choice([8, 12, 16]),
        "d_ff": draw.choice([31, 64, 97]),
        "num_heads": heads,
        "num_layers": draw.randint(1, 4),
        "dropout": draw.choice([0.0, 0.1, 0.3]),
        "attention_dropout": draw.choice([0.0, 0.1]),
        "pre_norm": draw.random() < 0.5,
        "positions": positions,
        "tie_source_target": joint,
        "tie_softmax": positions != "concatenated" and draw.random() < 0.5,
        "attention_bias": draw.random() < 0.5,
        "output_bias": draw.random() < 0.5,
        "tgt_vocab_size": draw.choice([29, 61, 211]),
    }
    if joint:
        config["src_vocab_size"] = config["tgt_vocab_size"]
    if positions == "concatenated":
        config["position_dim"] = 4
    return config


def laws_by_recorded_verdict(report: Report) -> dict[str, list[str]]:
    """Return the names of the laws that a report calls broken, warns of, or notes something of."""
    return {
        str(verdict): [line.law for line in report.results_with_verdict(verdict)]
        for verdict in RECORDED_VERDICTS
    }


def record_fault_detection(file: Path) -> None:
    """Diagnose faults, and ten sound configurations: the `laws_by_recorded_verdict` of each."""
    origin = provenance(torch.device("cpu"))
    clean: list[dict[str, Any]] = []
    for seed in range(NUM_SOUND_CONFIGS):
        laws = laws_by_recorded_verdict(diagnose(sound_adapter(seed, **draw_sound_config(seed))))
        print(f"sound {seed}: {', '.join(laws['broken']) or 'no law broken'}")
        clean.append({"config": draw_sound_config(seed)} | laws)
    clean.append(
        {"config": "pipeline"} | laws_by_recorded_verdict(diagnose_pipeline(sound_pipeline()))
    )
    figures = {}
    for fault in FAULTS:
        laws = laws_by_recorded_verdict(fault.diagnose())
        print(f"{fault.name}: {', '.join(laws['broken']) or 'no law sees this'}")
        figures[fault.name] = laws
    names = [law.name for law in MODEL_LAWS if not law.minute] + [law.name for law in PIPELINE_LAWS]
    about = {"provenance": origin, "laws": names, "faults": figures, "clean": clean}
    write_json(file, about)


def museum_tables_by_mark() -> dict[str, str]:
    """Return the tables and lists of the page, each by its mark there."""
    record = read_json(results_folder() / BROKEN_LAWS_RECORD)
    faults, clean = record["faults"], record["clean"]
    missed = [name for name, laws in faults.items() if not laws["broken"]]
    alarms = sum(bool(laws["broken"]) for laws in clean)
    counts = [
        f"- **Caught**: {len(faults) - len(missed)} of {len(faults)} faults break a law.",
        f"- **False alarms**: {alarms} of {len(clean)} sound ones break one "
        f"({NUM_SOUND_CONFIGS} configurations drawn at random, and the sound pipeline).",
        f"- **Laws tried**: {len(record['laws'])}.",
    ]
    groups = dict.fromkeys(fault.group for fault in FAULTS)
    return {
        "counts": "\n".join(counts),
        **{group: _table_of_faults_in_group(group, faults) for group in groups},
        "missed": _list_missed_faults(missed, faults),
        "laws": _fault_counts_by_law_table(record),
    }


def _table_of_faults_in_group(group: str, verdicts_of: Mapping[str, Any]) -> str:
    """Return the table of the faults of one group."""
    rows = [
        [
            f"`{fault.name}`",
            fault.about,
            _describe_laws_by_verdict(verdicts_of[fault.name]),
            _link_github_addresses(fault.source),
        ]
        for fault in FAULTS
        if fault.group == group and fault.name in verdicts_of
    ]
    return markdown_table(
        ["fault", "what the code does", "laws broken", "reported in"], rows, words=range(4)
    )


def _link_github_addresses(source: str) -> str:
    """Make links of addresses: "keras-team/keras-io 1046"."""
    address = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)")
    return address.sub(lambda match: f"[{match[1]} {match[2]}]({match[0]})", source)


def _describe_laws_by_verdict(laws: Mapping[str, list[str]]) -> str:
    """Name the first laws that are broken, the cheapest, count the others, name other verdicts'."""
    text = (
        ", ".join(f"`{name}`" for name in laws["broken"][:MAX_LAWS_SHOWN_PER_FAULT])
        or "no law sees this"
    )
    if len(laws["broken"]) > MAX_LAWS_SHOWN_PER_FAULT:
        text += f" and {len(laws['broken']) - MAX_LAWS_SHOWN_PER_FAULT} more"
    for verdict in RECORDED_VERDICTS[1:]:
        if named := laws[verdict]:
            text += f"; {verdict}: " + ", ".join(f"`{name}`" for name in named)
    return text


def _list_missed_faults(names: Iterable[str], verdicts_of: Mapping[str, Any]) -> str:
    """List the faults that break no law, those with a warning first, then those with a note."""
    fault_of = {fault.name: fault for fault in FAULTS}
    lines = []
    order = [(not verdicts_of[n]["warned"], not verdicts_of[n]["noted"], n) for n in names]
    for _, _, name in sorted(order, key=lambda row: row[:2]):
        line = f"- `{name}`: {fault_of[name].about}"
        for verdict, word in (("warned", "a warning"), ("noted", "a note")):
            if laws := verdicts_of[name][verdict]:
                line += f"; {word}: " + ", ".join(f"`{law}`" for law in laws)
        lines.append(line)
    return "\n".join(lines)


def _fault_counts_by_law_table(record: Mapping[str, Any]) -> str:
    """Count for each law how many faults break it, and how many no other law sees."""
    rows = []
    for law in record["laws"]:
        faults = record["faults"].values()
        broken_together = [laws["broken"] for laws in faults if law in laws["broken"]]
        alone = sum(len(broken) == 1 for broken in broken_together)
        count = str(len(broken_together))
        for verdict, word in (("warned", "warns of"), ("noted", "notes")):
            if number := sum(law in laws[verdict] for laws in faults):
                count += f" ({word} {number})"
        rows.append([f"`{law}`", count, str(alone)])
    return markdown_table(
        ["law", "faults that break it", "found by it alone"], rows, words=range(3)
    )
