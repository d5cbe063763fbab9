"""The ids that mean no word, unless an adapter says others: the course's own."""

PAD_ID, BOS_ID, EOS_ID = 0, 2, 3
