"""Benchmarks for fmfkit: generated data in the shapes of the paper's, and solvers side by side."""
