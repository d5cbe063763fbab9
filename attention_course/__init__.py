"""The command line, above all other rooms: `python -m transformer`, or `attention-course`."""
