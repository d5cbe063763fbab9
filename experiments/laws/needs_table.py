"""The table of docs/laws.md: which laws are not tried where something is missing.

Not in the paper. `python -m experiments tables` puts it in its place.
"""

from attention_laws.law import Law
from attention_laws.laws import MODEL_LAWS, PIPELINE_LAWS
from experiments.tables import markdown_table


def needs_table() -> str:
    """Return what laws cannot do without, a row each, with the laws that then are not tried.

    A module is left out: only a model that is given as functions has none.
    """
    laws_by_need: dict[str, list[str]] = {}
    for kind, laws in (("Adapter", MODEL_LAWS), ("Pipeline", PIPELINE_LAWS)):
        for law in laws:
            needs = [f"`{name}` of the {kind}" for name in law.needs if name != "module"]
            for need in (*_needs_beside_attributes(law), *needs):
                laws_by_need.setdefault(need, []).append(f"`{law.name}`")
    rows = [[need, ", ".join(names)] for need, names in laws_by_need.items()]
    return markdown_table(["without", "not tried"], rows, words=range(2))


def _needs_beside_attributes(law: Law) -> list[str]:
    """Return in words what a law needs that is no attribute of an Adapter or a Pipeline."""
    wanted = {
        "an encoder": law.reads_source,
        "a decoder alone": law.of_decoder_only,
        "`--minute`": law.minute,
    }
    return [need for need, is_needed in wanted.items() if is_needed]
