"""How much the laws of `attention_laws` see: mutants of a sound model, and sound variants of it."""
