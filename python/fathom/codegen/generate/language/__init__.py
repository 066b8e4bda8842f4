"""From a source with blocks of hints to statements with places: scanner, grammar, expressions."""
