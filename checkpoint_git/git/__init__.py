"""Everything that speaks to git, and the only importer of GitPython."""
