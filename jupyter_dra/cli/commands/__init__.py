"""One module per command; each has ``configure(parser)`` and ``run(arguments) -> int``."""
