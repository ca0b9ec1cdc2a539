"""One edit of a checkpoint: how it is typed, which field it names by the schema, and what it
changes there.
"""
