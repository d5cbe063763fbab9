"""The grammar that drew the embedded corpus; not in the wheel, which has what it drew."""
