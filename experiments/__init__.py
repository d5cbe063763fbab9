"""What made the records, the figures, the corpus and the shipped models; not in the wheel."""
