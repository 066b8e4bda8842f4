"""Where each call's time went, layer by layer down to the server's disk: IOPro's model (docs/commands/query.md).

`language.parse` reads a query, `segment.Segment` says of which part of the run, `model` answers; `servers` says what a
server is. `layers`, `operations` and `collectives` are a query each: `ask.Question` asks a statement that
`pieces.statement` puts together of NAME.sql and its `{parts}`. FATHOM_PLANS=1 prints it.
"""
