"""HTML and terminal rendering of results."""

from butfor.report.data import ReportData, Reproduction
from butfor.report.gathering import gather_report
from butfor.report.page import render_html
from butfor.report.repairs import view_of
from butfor.report.repairs_terminal import print_repairs
from butfor.report.terminal import print_run, print_terminal

__all__ = [
    "ReportData",
    "Reproduction",
    "gather_report",
    "render_html",
    "print_terminal",
    "print_run",
    "print_repairs",
    "view_of",
]
