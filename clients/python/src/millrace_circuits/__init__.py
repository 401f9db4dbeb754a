"""Client of the Millrace circuit service."""

from .client import Circuits, Problem, Refused, TimedOut, Unavailable, ENDED
from .types import Circuit, Hop, LinkCalendar, Offer, Proposal, Quota, Quote, Refusal, Repeat, Slot, Terms

__all__ = [
    "Circuit", "Circuits", "ENDED", "Hop", "LinkCalendar", "Offer", "Problem", "Proposal", "Quota", "Quote", "Refusal", "Refused", "Repeat", "Slot",
    "Terms", "TimedOut", "Unavailable",
]
