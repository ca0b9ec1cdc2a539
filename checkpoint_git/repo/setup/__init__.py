"""What an installation is made of, and the plans that add it and take it away."""
