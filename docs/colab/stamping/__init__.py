"""What `make colab` writes into the repository, one subject a file."""
