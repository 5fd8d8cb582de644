"""How plugins are found, loaded and asked: hooks, discovery, the registry, and the plugin "builtin"."""
