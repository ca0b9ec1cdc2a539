"""What no longer agrees with time, files and history: the facts, the checks of the doctor and their
fixes.
"""
