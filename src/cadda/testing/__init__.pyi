from .operations import OperationContract as OperationContract
from .searchers import SearcherContract as SearcherContract

__all__ = ["OperationContract", "SearcherContract"]
