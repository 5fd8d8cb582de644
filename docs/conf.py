"""How the documentation becomes a site: ``tox -e docs`` builds it into ``build/docs``."""

import logging
import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))

# a pattern in the table of contents may match no page
logging.getLogger("sphinx.sphinx.directives.other").addFilter(lambda told: "didn't match any documents" not in told.msg)

project = "fmfkit"
author = "the authors of fmfkit"
copyright = "the authors of fmfkit, BSD 3-Clause licence"
version = release = installed("fmfkit")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_gallery.gen_gallery",
    "outputs",
    "reference",
]
exclude_patterns = ["_site", "gallery/*.py", "gallery/*.rst"]
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
autoclass_content = "class"
napoleon_google_docstring = True
napoleon_use_rtype = False
add_module_names = False
python_use_unqualified_type_names = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r".*",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "abort_on_example_error": True,
}

smartquotes_action = "qe"  # options of commands begin with two hyphens, not with a dash

html_theme = "furo"
html_title = "fmfkit"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "footer_icons": []}
pygments_style = "friendly"
