"""Where the work stands and what comes next: what `status`, `next`, `resume`, `prime`, `log` and
the report show.
"""
