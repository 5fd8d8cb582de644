"""The paper's experiments, each a function from a ``Lab`` to a ``Section``."""
