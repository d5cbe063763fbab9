"""The companion package of a notebook course on "Attention Is All You Need".

Nothing is imported here, so that `python -m transformer --help` answers at once.
Import what you need from its module: `from transformer.attention import ...`.
"""

__version__ = "0.1.0"
