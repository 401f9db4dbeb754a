"""Client of the Millrace circuit service."""

from .client import Circuits, Problem, Refused, TimedOut, Unavailable, ENDED
from .types import Circuit, Hop, LinkCalendar, Offer, Quote, Refusal, Slot, Terms

__all__ = [
    "Circuit", "Circuits", "ENDED", "Hop", "LinkCalendar", "Offer", "Problem", "Quote", "Refusal", "Refused", "Slot", "Terms",
    "TimedOut", "Unavailable",
]
