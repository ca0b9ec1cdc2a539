"""The documented systems, one room each; every room has the drawers that contract.py names."""
