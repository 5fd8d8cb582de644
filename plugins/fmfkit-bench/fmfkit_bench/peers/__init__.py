"""fmfkit beside the systems that people use: ``interface`` says what an adapter is, ``adapters`` has ours."""
