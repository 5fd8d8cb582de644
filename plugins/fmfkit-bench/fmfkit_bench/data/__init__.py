"""Data to measure on: generated shapes, files of real data, and tables to read."""
