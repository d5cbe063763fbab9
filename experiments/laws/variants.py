"""Forty sound variants of the sound models, on which no law is to break.

Not in the paper. `python -m experiments laws` tries them, and mutants, on which one is to.
"""

from experiments.laws.modern_variants import (
    FUNCTIONAL_VARIANT_EDITS,
    MODERN_VARIANT_EDITS,
    VariantEdits,
)
from experiments.laws.sound_models import SOUND_MODELS

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
    "rms_norm": (("nn.LayerNorm(D_MODEL)", "nn.RMSNorm(D_MODEL, eps=1e-5)"),),
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
