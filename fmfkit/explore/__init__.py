"""``fmfkit explore``: a model looked at in a browser, on pages that this machine alone can ask for."""
