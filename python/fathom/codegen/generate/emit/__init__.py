"""Plans to source text: what a template sees (context), expressions (render), one template per library and language."""
