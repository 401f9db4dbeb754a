"""Types of what the service takes and answers, under the names that the methods of Circuits have for them."""

from . import schemas
from .schemas import *
from .schemas import AddMaintenanceResponse as Maintained
from .schemas import QuotaResponse as Quota
from .schemas import QuoteResponse as Quote
from .schemas import ReoptimiseResponse as Reoptimised
from .schemas import StatementResponse as Statement
from .schemas import UsageResponse as Usage

__all__ = ["Maintained", "Quota", "Quote", "Reoptimised", "Statement", "Usage"]
__all__ += schemas.__all__
