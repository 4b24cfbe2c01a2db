"""Memory for any program that speaks the Model Context Protocol: over standard input and output, or over HTTP.

What a call is about comes from how the program was let in (`person`), never from an argument. Needs `ricordo[mcp]`.
"""
