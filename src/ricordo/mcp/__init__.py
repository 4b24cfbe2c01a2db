"""A server for the Model Context Protocol: over standard input and output, or over HTTP. Needs `ricordo[mcp]`.

The user of a call comes from the credential or the command line, never from an argument.
"""
