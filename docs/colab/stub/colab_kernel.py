"""Starts a kernel as Colab does, with `google.colab` imported: the stub beside this file."""

import google.colab  # noqa: F401
from ipykernel.kernelapp import launch_new_instance

launch_new_instance()
