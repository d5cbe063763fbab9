"""The table of faults and laws: what catches what, and what is sound and still called broken.

Not in the paper. `python -m experiments museum` makes the record, `tables` the page of it.
"""

import random
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from attention_laws.laws import LAWS, PIPELINE_LAWS
from attention_laws.report import Report, Verdict
from attention_laws.run import diagnose, diagnose_pipeline
from experiments.tables import markdown
from lessonkit.museum import FAULTS, sound_adapter
from lessonkit.museum.fault import LAWS_RECORD
from lessonkit.museum.pipeline import sound_pipeline
from transformer.support.files import read_json, write_json
from transformer.support.folders import results_folder
from transformer.support.provenance import provenance

SHOWN = 3  # laws of a fault that the page names
CLEAN = 10  # configurations of the sound model that are diagnosed


def drawn_config(seed: int) -> dict[str, Any]:
    """Draw a configuration that is as sound as any, as `sound_model` takes it."""
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


def found(report: Report) -> dict[str, list[str]]:
    """Give the names of the laws that a report calls broken, and of those that it warns of."""
    return {"broken": report.broken, "warned": [line.law for line in report.of(Verdict.WARNED)]}


def record(file: Path) -> None:
    """Diagnose faults, and ten sound configurations: each with what `found` gives."""
    origin = provenance(torch.device("cpu"))
    clean: list[dict[str, Any]] = []
    for seed in range(CLEAN):
        seen = found(diagnose(sound_adapter(seed, **drawn_config(seed))))
        print(f"sound {seed}: {', '.join(seen['broken']) or 'no law broken'}")
        clean.append({"config": drawn_config(seed)} | seen)
    clean.append({"config": "pipeline"} | found(diagnose_pipeline(sound_pipeline())))
    figures = {}
    for fault in FAULTS:
        figures[fault.name] = seen = found(fault.diagnose())
        print(f"{fault.name}: {', '.join(seen['broken']) or 'no law sees this'}")
    names = [law.name for law in LAWS if not law.minute] + [law.name for law in PIPELINE_LAWS]
    about = {"provenance": origin, "laws": names, "faults": figures, "clean": clean}
    write_json(file, about)


def tables() -> dict[str, str]:
    """Give what of the records stands on the page, each by its mark there."""
    record = read_json(results_folder() / LAWS_RECORD)
    seen, clean = record["faults"], record["clean"]
    missed = [name for name, found in seen.items() if not found["broken"]]
    alarms = sum(bool(found["broken"]) for found in clean)
    counts = [
        f"- **Caught**: {len(seen) - len(missed)} of {len(seen)} faults break a law.",
        f"- **False alarms**: {alarms} of {len(clean)} sound ones break one "
        f"({CLEAN} configurations drawn at random, and the sound pipeline).",
        f"- **Laws tried**: {len(record['laws'])}.",
    ]
    groups = dict.fromkeys(each.group for each in FAULTS)
    return {
        "counts": "\n".join(counts),
        **{group: _group(group, seen) for group in groups},
        "missed": _missed(missed, seen),
        "laws": _by_law(record),
    }


def _group(group: str, seen: Mapping[str, Any]) -> str:
    """Write the faults of one group."""
    rows = [
        [f"`{each.name}`", each.about, _laws(seen[each.name]), _linked(each.source)]
        for each in FAULTS
        if each.group == group and each.name in seen
    ]
    return markdown(["fault", "what the code does", "breaks", "reported"], rows, words=range(4))


def _linked(source: str) -> str:
    """Make links of addresses: "keras-team/keras-io 1046"."""
    address = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)")
    return address.sub(lambda found: f"[{found[1]} {found[2]}]({found[0]})", source)


def _laws(seen: Mapping[str, list[str]]) -> str:
    """Name the first laws, the cheapest, and count the others."""
    text = ", ".join(f"`{name}`" for name in seen["broken"][:SHOWN]) or "no law sees this"
    if len(seen["broken"]) > SHOWN:
        text += f" and {len(seen['broken']) - SHOWN} more"
    warned = ", ".join(f"`{name}`" for name in seen["warned"])
    return text + (f"; warned: {warned}" if warned else "")


def _missed(names: Iterable[str], seen: Mapping[str, Any]) -> str:
    """List the faults that break no law, those with a warning first."""
    known = {each.name: each for each in FAULTS}
    lines = []
    for name in sorted(names, key=lambda name: not seen[name]["warned"]):
        warned = ", ".join(f"`{law}`" for law in seen[name]["warned"])
        lines.append(f"- `{name}`: {known[name].about}" + f"; a warning: {warned}" * bool(warned))
    return "\n".join(lines)


def _by_law(record: Mapping[str, Any]) -> str:
    """Count for each law how many faults break it, and how many no other law sees."""
    rows = []
    for law in record["laws"]:
        seen = [each["broken"] for each in record["faults"].values() if law in each["broken"]]
        warned = sum(law in each["warned"] for each in record["faults"].values())
        count = f"{len(seen)}" + f" (warns of {warned})" * bool(warned)
        rows.append([f"`{law}`", count, f"{sum(len(each) == 1 for each in seen)}"])
    return markdown(["law", "faults", "alone"], rows, words=range(3))
