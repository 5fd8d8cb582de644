"""The time and memory of recommending."""
