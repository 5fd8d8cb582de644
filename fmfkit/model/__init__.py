"""What training returns, its answers, and its files."""
