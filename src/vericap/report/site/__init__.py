"""The report: a folder whose `index.html` opens from disk and shows why captions got their scores."""

from vericap.report.site.build import Written, write_site
from vericap.report.site.content import Content, of_comparison, of_result, of_run
from vericap.report.site.defaults import default_metrics
from vericap.report.site.stored import of_stored, scored_columns

__all__ = [
    "Content",
    "Written",
    "default_metrics",
    "of_comparison",
    "of_result",
    "of_run",
    "of_stored",
    "scored_columns",
    "write_site",
]
