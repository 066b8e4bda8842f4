"""The probe catalog: loader, and emitters of wrappers, tables and reference pages.

Needs the standard library only: it runs while Fathom is being built. Nothing is loaded here, since pages need its
layers alone.
"""
