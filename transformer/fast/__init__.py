"""The same results in less time; each file beside the plain form that is its oracle."""
