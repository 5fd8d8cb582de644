"""Solvers side by side, and the goals for speed and memory."""
