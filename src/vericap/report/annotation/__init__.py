"""Campaigns: pages on which people rate captions, written by `vericap annotate` and read back by `vericap meta`."""

from vericap.report.annotation.campaign import CAMPAIGN_FILE, RATINGS_FORMAT, Campaign, Caption
from vericap.report.annotation.page import write_campaign
from vericap.report.annotation.questions import QUESTIONS, SCALE, Question, questions_of

__all__ = [
    "CAMPAIGN_FILE",
    "QUESTIONS",
    "RATINGS_FORMAT",
    "SCALE",
    "Campaign",
    "Caption",
    "Question",
    "questions_of",
    "write_campaign",
]
