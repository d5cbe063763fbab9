"""Forty sound variants of the sound models, on which no law is to break; mutants, on which one is.

Not in the paper. `python -m experiments laws` tries both.
"""

import warnings
from pathlib import Path
from typing import Any

import torch

from attention_laws import diagnose
from experiments.laws.modern_variants import (
    FUNCTIONAL_VARIANT_EDITS,
    MODERN_VARIANT_EDITS,
    VariantEdits,
)
from experiments.laws.mutants import (
    SAMPLE_SEED,
    SOUND_MODELS,
    run_as_module,
    sample_mutants,
    try_laws_on_mutant,
)
from transformer.support.files import write_json
from transformer.support.provenance import provenance

# Of each sound model: mutants of the model, and of what trains and searches it.
NUM_MUTANTS_BY_PART = {
    "paper": {"model": 100, "setup": 50},
    "modern": {"model": 50, "setup": 25},
    "functional": {"model": 50, "setup": 25},
}

CROSS, OUTPUT = "self.cross = MultiHeadAttention()", "self.output = nn.Linear(D_MODEL, TGT_TYPES)"
PRODUCT, SPLIT = "return query @ key.transpose(-2, -1)", "    def split(self, hidden):"
TIED_SOFTMAX_EDIT = (OUTPUT, f"{OUTPUT}; self.output.weight = self.tgt.words.weight")
NO_SINUSOIDS_EDIT = ("words + self.waves[start : start + ids.shape[1]]", "words")
ROTARY_METHOD_CODE = """    def turned(self, hidden, start):
        places, half = torch.arange(start, start + hidden.shape[2]), hidden.shape[-1] // 2
        angles = places[:, None].to(hidden) / 10000 ** (torch.arange(half) / half)
        (one, other), (cos, sin) = hidden.split(half, dim=-1), (angles.cos(), angles.sin())
        return torch.cat((one * cos - other * sin, one * sin + other * cos), dim=-1)

"""
ROTARY_CALL_CODE = (
    "query, key = self.turned(query, key.shape[2] - query.shape[2]), self.turned(key, 0)"
)
ALIBI_SLOPES_CODE = "    slopes = 2.0 ** -torch.arange(1, HEADS + 1)[:, None, None]\n\n"
ALIBI_SCORES_CODE = """q_len, k_len = query.shape[2], key.shape[2]
        gap = torch.arange(k_len - q_len, k_len)[:, None] - torch.arange(k_len)
        return -self.slopes * gap.where(gap > 0, -2 * gap) + query @ key.transpose(-2, -1)"""
GROUPED_KEYS_AND_VALUES_CODE = """shape = (*hidden.shape[:2], HEADS // 2, -1)
        pair = (each(hidden).view(shape).transpose(1, 2) for each in (self.key, self.value))
        return [each.repeat_interleave(2, dim=1) for each in pair]"""
# What stands in sound_model.py, and what is to.
PAPER_VARIANT_EDITS: VariantEdits = {
    "pre_norm": (
        (
            "self.norm(hidden + self.dropout(sublayer(hidden)))",
            "hidden + self.dropout(sublayer(self.norm(hidden)))",
        ),
        (OUTPUT, f"{OUTPUT}; self.ends = nn.ModuleList(nn.LayerNorm(D_MODEL) for _ in range(2))"),
        ("return hidden\n", "return self.ends[0](hidden)\n"),
        ("return self.output(hidden)", "return self.output(self.ends[1](hidden))"),
    ),
    "tied": (TIED_SOFTMAX_EDIT,),
    "no_bias": (
        ("import math\n", "import math\nfrom functools import partial\n"),
        ("nn.Linear(", "partial(nn.Linear, bias=False)("),
    ),
    "rms_norm": (("nn.LayerNorm", "nn.RMSNorm"),),
    "rotary": (
        (SPLIT, ROTARY_METHOD_CODE + SPLIT),
        (PRODUCT, f"{ROTARY_CALL_CODE}\n        {PRODUCT}"),
        (CROSS, f"{CROSS}; self.cross.turned = lambda hidden, start: hidden"),
        NO_SINUSOIDS_EDIT,
    ),
    "alibi": (
        (SPLIT, ALIBI_SLOPES_CODE + SPLIT),
        (PRODUCT, ALIBI_SCORES_CODE),
        (CROSS, f"{CROSS}; self.cross.slopes = 0"),
        NO_SINUSOIDS_EDIT,
    ),
    "learned_positions": (
        (
            'self.register_buffer("waves", waves)',
            "self.waves = nn.Parameter(torch.randn(64, D_MODEL) / 2)",
        ),
    ),
    "grouped_queries": (
        ("self.key = nn.Linear(D_MODEL, D_MODEL)", "self.key = nn.Linear(D_MODEL, D_MODEL // 2)"),
        (
            "self.value = nn.Linear(D_MODEL, D_MODEL)",
            "self.value = nn.Linear(D_MODEL, D_MODEL // 2)",
        ),
        (
            "return self.split(self.key(hidden)), self.split(self.value(hidden))",
            GROUPED_KEYS_AND_VALUES_CODE,
        ),
    ),
    "two_vocabularies": (("SRC_TYPES, TGT_TYPES = 23, 29", "SRC_TYPES, TGT_TYPES = 101, 17"),),
    "shared_vocabulary": (
        ("SRC_TYPES, TGT_TYPES = 23, 29", "SRC_TYPES, TGT_TYPES = 29, 29"),
        (TIED_SOFTMAX_EDIT[0], f"{TIED_SOFTMAX_EDIT[1]}; self.src.words = self.tgt.words"),
    ),
}


VARIANT_EDITS_BY_MODEL = {
    "paper": PAPER_VARIANT_EDITS,
    "modern": MODERN_VARIANT_EDITS,
    "functional": FUNCTIONAL_VARIANT_EDITS,
}


def variant_text(model_name: str, variant: str) -> str:
    """Return the source of a sound model with the edits of one of its variants."""
    text = SOUND_MODELS[model_name].text
    for old, new in VARIANT_EDITS_BY_MODEL[model_name][variant]:
        assert old in text, old
        text = text.replace(old, new)
    return text


def false_alarms_by_run() -> dict[str, list[str]]:
    """Try the laws on every variant, with the whole adapter and alone.

    Returns:
        The laws that were called broken, or that could not be judged, by run.
    """
    alarms_of = {}
    for model_name, variants in VARIANT_EDITS_BY_MODEL.items():
        for variant in variants:
            module = run_as_module(variant_text(model_name, variant))
            for kind, subject in (("whole", module.make_adapter()), ("alone", module.make_model())):
                report = diagnose(subject)
                broken = report.broken_laws or (["not judged"] if report.exit_status else [])
                run = f"{model_name} {variant} {kind}"
                alarms_of[run] = broken
                print(f"{run}: {', '.join(broken) or 'no law broken'}")
    return alarms_of


def record_mutants_and_variants(file: Path) -> None:
    """Try the laws on mutants and on sound variants of the models, and record what they find."""
    warnings.simplefilter("ignore")
    figures: dict[str, Any] = {"provenance": provenance(torch.device("cpu")), "seed": SAMPLE_SEED}
    for model_name, numbers in NUM_MUTANTS_BY_PART.items():
        figures[model_name] = {
            part: _try_laws_on_mutants(model_name, part, number) for part, number in numbers.items()
        }
    alarms_of = false_alarms_by_run()
    false_alarms = {run_name: laws for run_name, laws in alarms_of.items() if laws}
    figures["variants"] = {"runs": len(alarms_of), "alarms": false_alarms}
    write_json(file, figures)


def _try_laws_on_mutants(model_name: str, part: str, number: int) -> dict[str, Any]:
    """Return what the laws find on mutants of a model, or of what trains and searches it."""
    drawn, left_out = sample_mutants(SOUND_MODELS[model_name], number, of_setup=part == "setup")
    rows = []
    for mutant, module in drawn:
        row = try_laws_on_mutant(mutant, module)
        print(f"{row['broken'] or 'missed'}; {row['alone'] or 'missed'}: {row['mutant']}")
        rows.append(row)
    caught = {kind: sum(bool(row[kind]) for row in rows) for kind in ("broken", "alone")}
    return {"tried": len(rows), **caught, **left_out, "mutants": rows}
