from .search import addresses as addresses
from .search import search_addressing as search_addressing
