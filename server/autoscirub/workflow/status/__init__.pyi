from .overview import status as status
