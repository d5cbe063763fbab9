"""The command line, above all other rooms: `attention-course` (also `python -m transformer`)."""
