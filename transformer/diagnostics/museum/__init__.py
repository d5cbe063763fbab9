"""The museum of faults: a sound Transformer, and small variations of it that are not.

Not in the paper.
"""
