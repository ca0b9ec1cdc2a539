"""What tests share: a hermetic git repository, sample checkpoints, the installed command."""
