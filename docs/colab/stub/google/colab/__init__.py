"""Stands in for the package that marks Colab's kernels, and holds what it offers them."""
