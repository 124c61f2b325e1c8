"""Many sessions under random trouble, and a count of what is left at the end."""
