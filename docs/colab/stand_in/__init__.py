"""What stands in for Colab on this machine, one subject a file."""
