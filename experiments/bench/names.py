"""What is measured, by the names in the records (no torch in here).

Not in the paper.
"""

OURS = "ours"
TORCH = "torch.nn.Transformer"
MARIAN = "MarianMTModel"  # of Hugging Face

# The sections, in the order in which they are measured; each leaves NAME.json. Decoding's is
# `export`, older than the others.
DECODING = "export"
SECTIONS = ("startup", "growth", "training", DECODING)
