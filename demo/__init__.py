"""The tool at work in a scratch repository: `python -m demo`. Nothing of the user's is read or
written.
"""
