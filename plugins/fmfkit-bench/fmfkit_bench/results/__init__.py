"""What benchmarks find, and how it is shown: sections, pages and figures."""
