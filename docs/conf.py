"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

import rowsparse

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

project = "rowsparse"
author = "The rowsparse developers"
copyright = author
version = release = rowsparse.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "docs.extensions.architecture",
    "docs.extensions.command_line",
    "docs.extensions.mathml",
    "docs.extensions.outputs",
    "docs.extensions.repository_links",
    "docs.extensions.docstrings",
]
# An apostrophe in a formula is a transpose.
smartquotes = False
templates_path = ["_templates"]
exclude_patterns = ["extensions"]

# Anchors as GitHub makes them: the pages are read there too.
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_update_mathjax = False

# By name: True takes the pages of the last build, without new ones.
autosummary_generate = [str(page) for page in (HERE / "api").glob("*.md")]
# Beside rowsparse.Stability, on disks for which upper and lower case are the same.
autosummary_filename_map = {"rowsparse.stability": "rowsparse.stability_function"}
autosummary_context = {
    "method_pages": {
        **{page.stem: page.stem for page in (HERE / "methods").glob("*.md")},
        **dict.fromkeys(("fisherscore", "ridgeranking", "allfeatures"), "baselines"),
    }
}
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    # What `make demo` runs is no page.
    "ignore_pattern": r"\bdemo\.py$",
    "within_subsection_order": "docs.extensions.gallery_order.Order",
    "doc_module": ("rowsparse",),
    "backreferences_dir": "api/generated/examples",
    "reference_url": {"rowsparse": None},
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
}

# What is copied are the lines of code alone, without prompts and output.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "rowsparse"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
# Pages without others below them have nothing to show in a sidebar.
html_sidebars: dict[str, list[str]] = {
    page: []
    for page in (
        "changelog",
        "cli",
        "contributing",
        "getting_started",
        "index",
        "migration",
        "policies",
        "report",
        "search",
        "security",
    )
}
html_show_sourcelink = False
html_copy_source = False
html_search_scorer = str(HERE / "search_scorer.js")
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "rowsparse"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
