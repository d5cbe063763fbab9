"""What several tests share."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Settings that make the recipe `demo` small enough for a test.
TINY = {
    "vocab_size": "293",
    "d_model": "16",
    "d_ff": "17",
    "num_heads": "2",
    "num_layers": "1",
    "batch_tokens": "256",
    "max_train_tokens": "23",
    "report_every": "1",
    "validate_every": "2",
}
