"""For `pytest --nbval notebooks` without make: kernels inherit this."""

import os

# Two kernels of several threads spin against each other on two cores. Torch
# reads this as it loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
