"""`checkpoint workflow`: the phases and tasks of a workflow."""
