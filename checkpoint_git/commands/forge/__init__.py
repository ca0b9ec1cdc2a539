"""The verb `ci`: what a forge's jobs run, because no forge runs a merge driver."""
