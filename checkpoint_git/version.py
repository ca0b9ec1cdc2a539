"""The version; it imports nothing, so that every module may know it."""

__version__ = "0.1.0"
