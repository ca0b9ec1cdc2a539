"""Pure values and text: nothing in here touches files, git, the clock or the network."""
