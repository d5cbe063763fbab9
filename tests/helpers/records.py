"""A record of a run, made up."""

from typing import Any

HASH = "0123456789abcdef0123456789abcdef01234567"


def sample() -> dict[str, Any]:
    return {
        "recipe": {"name": "demo", "training": {"bf16": False}},
        "training": {
            "date": "2017-06-12",
            "hardware": "an abacus, 2 threads",
            "steps": 12345,
            "minutes": 61.7,
            "seed": 7,
            "commit": HASH,
        },
        "figures": {
            "corpus": "embedded",
            "split": "test_long",
            "src_lang": "en",
            "tgt_lang": "fr",
            "bleu": {"score": 37.8, "interval": [36.11, 39.5], "signature": "s"},
            "chrf++": {"score": 61.26, "interval": [60.0, 62.0], "signature": "s"},
            "bleu_tokenised_lowercased": 39.4,
            "perplexity": 4.567,
            "loss": 1.5189,
            "beam_size": 4,
            "parameters": 9038341,
            "baselines": {
                "copied_source": {"bleu": 1.25, "chrf++": 14.5},
                "nearest_training_source": {"bleu": 22.5, "chrf++": 40.0},
            },
        },
    }
