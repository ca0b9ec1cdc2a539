"""One script a figure, each printing a table: `python -m benchmarks.driver`, and so on.

laws.py measures no time: it tries the merge on as many generated histories as one has patience for.
"""
