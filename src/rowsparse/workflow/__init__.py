"""From a table in a file to a result: read, select, compare, write.

``table.read_table`` reads a file; ``select.select``, ``compare.compare`` and ``path.find_path``
take the table and an object of ``settings``, and return one of ``results``.
"""
