"""Client of the Millrace circuit service."""

from .client import Circuits, Problem, Refused, TimedOut, Unavailable, ENDED
from .types import (
    Circuit, Hop, LinkCalendar, Maintained, Maintenance, Offer, Proposal, Quota, Quote, Refusal, Repeat, Slot, Statement, Terms, Usage,
)

__all__ = [
    "Circuit", "Circuits", "ENDED", "Hop", "LinkCalendar", "Maintained", "Maintenance", "Offer", "Problem", "Proposal", "Quota", "Quote", "Refusal",
    "Refused", "Repeat", "Slot", "Statement", "Terms", "TimedOut", "Unavailable", "Usage",
]
