"""What a page about a project tells: its facts, the page made of them, and where that is kept."""
