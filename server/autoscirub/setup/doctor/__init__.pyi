from .machine import look_around as look_around
