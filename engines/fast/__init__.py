"""The package's own Transformer and its beam search, made for speed: the same translations.

Not in the paper. The plain forms, `transformer.model` and `transformer.decoding`, are the oracle
in the tests. Why, and what each measure saves: docs/decisions/fast-decoding.md.
"""
