"""Where each call's time went, layer by layer down to the server's disk: IOPro's model (docs/commands/query.md).

`language.parse` reads a query, `segment.Segment` says of which part of the run, `model` answers; `servers` says what a
server is.
"""
