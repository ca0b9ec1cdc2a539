"""The verbs about merges: `resolve` for one under way, `explain-merge` for those that were made."""
