import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from numpydoc.xref import DEFAULT_LINKS
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

import cadda

sys.path.append(str(Path(__file__).parent))  # for example_figures

project = "cadda"
author = "the authors of cadda"
copyright = author
version = release = cadda.__version__
language = "en_GB"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples"]
templates_path = ["templates"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# Types stand in the docstrings.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

# In a docstring, `name` is a link where there is such a page and code where there is none.
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", r".*")]

# Types of parameters are links to our own classes; an alias to itself makes no link.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {
    **{word: word for word in DEFAULT_LINKS},
    **{name: f"cadda.{name}" for name in cadda.__all__ if name[0].isupper()},
    "Group": "cadda.policies.dispatch.Group",
    "PolicyDraw": "cadda.policies.policy.PolicyDraw",
    "Provenance": "cadda.policies.spec.provenance.Provenance",
    "RelaxedDraw": "cadda.policies.relaxed.base.RelaxedDraw",
    "StageEntry": "cadda.policies.spec.entries.StageEntry",
    "Subpolicy": "cadda.policies.spec.entries.Subpolicy",
}

# Examples run when the documentation is built, so that what they show is what they do.
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "ExampleTitleSortKey",
    "image_scrapers": ("example_figures.scrape",),
    "capture_repr": (),
    "abort_on_example_error": True,
    "write_computation_times": False,
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "cadda"
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
}
html_sidebars = {"*": [], "gallery/*": [], "api/*": ["sidebar-nav-bs"]}
html_static_path = ["static"]
html_css_files = ["cadda.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"


def _visit_math(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula as MathML, which browsers show without a script from elsewhere."""
    as_block = isinstance(node, nodes.math_block)
    try:
        formula = tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        logging.getLogger(__name__).warning("formula: %s", error, location=node)
        formula = f"<code>{writer.encode(node.astext())}</code>"
    writer.body.append(f'<div class="formula">{formula}</div>' if as_block else formula)
    raise nodes.SkipNode


def _read_directives(app: Sphinx, page: str, source: list[str]) -> None:
    """Turn comments into the directives that they name: a code host would show a directive."""
    pattern = r"<!-- toctree\n(.*?)-->"
    source[0] = re.sub(pattern, r"```{toctree}\n:hidden:\n\n\1```", source[0], flags=re.S)
    pattern = r"<!-- literalinclude (\S+) (\w+) -->"
    source[0] = re.sub(pattern, r"```{literalinclude} \1\n:language: \2\n```", source[0])


def _link_examples(app: Sphinx, page: str, source: list[str]) -> None:
    """Link to the executed page of an example, where the code host has its source only."""
    source[0] = re.sub(r"\((?:\.\./)*examples/(plot_\w+)\.py\)", r"(/gallery/\1.rst)", source[0])
    source[0] = re.sub(r"\((?:\.\./)*examples\)", "(/gallery/index.rst)", source[0])


def setup(app: Sphinx) -> None:
    """Register how comments and links are read and how formulas are written."""
    app.connect("source-read", _read_directives)
    app.connect("source-read", _link_examples)
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math, None))
