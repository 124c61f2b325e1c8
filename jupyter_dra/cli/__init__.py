"""The ``jupyter dra`` command."""
