"""The table of the recorded translators of own text, in docs/own_text.md.

Not in the paper.
"""

import re
from collections.abc import Mapping
from typing import Any

from experiments.tables import (
    OWN_TEXT_COLUMNS,
    baseline_cells,
    markdown_table_from_row_dicts,
    score_and_interval,
)
from lessonkit.records import precision_of_run
from transformer.support.files import read_json
from transformer.support.folders import results_folder
from transformer.training.preparation import START_FROM_KEY


def own_text_table(columns: Mapping[str, str] = OWN_TEXT_COLUMNS) -> str:
    """Return a Markdown table of the recorded translators of own text, by their names."""
    paths = sorted(results_folder().glob("own_text/*.json"), key=lambda path: path.stem)
    rows = [own_text_cells(read_json(path)) for path in paths]
    return markdown_table_from_row_dicts(columns, rows)


def own_text_cells(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the cells of a translator's record, by field."""
    run, figures = record["training"], record["figures"]
    direction = f"{figures['src_lang']}-{figures['tgt_lang']}"
    start = f", from {run[START_FROM_KEY]['languages']}" if START_FROM_KEY in run else ""
    placeholders = figures.get("placeholders")
    return {
        "direction": f"{direction}{start}",
        "pairs": f"{run['pairs']['training']['used']:,}",
        "parameters": f"{figures['parameters']:,}",
        "steps": f"{run['steps']:,}",
        "minutes": f"{run['minutes']:,.0f}",
        "bleu": f"{score_and_interval(figures['bleu'])}, {_bleu_tokenizer_name(figures['bleu'])}",
        "chrf": score_and_interval(figures["chrf++"]),
        "placeholders": f"{placeholders['kept']:.1f}% of {placeholders['sentences']:,}"
        if placeholders
        else "none",
        "trained_on": f"{run['hardware']}, {precision_of_run(record)}, {run['date']}",
    } | baseline_cells(figures)


def _bleu_tokenizer_name(bleu: Mapping[str, Any]) -> str:
    """Return the tokenizer that a BLEU score's signature names."""
    found = re.search(r"\btok:([^|]+)", bleu["signature"])
    assert found, bleu["signature"]
    return found[1]
