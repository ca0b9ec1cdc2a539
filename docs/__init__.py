"""Pages for people, and the scripts that make pictures and the site from real runs."""
