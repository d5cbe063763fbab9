"""What the lessons draw, ask and check: `charts`, `exercises`, `analysis`."""
