"""A figure that a notebook shows by itself: matplotlib's own is shown once pyplot is loaded. Imports matplotlib."""

from io import BytesIO

from matplotlib.figure import Figure


class Drawing(Figure):
    """The same as matplotlib's."""

    def _repr_png_(self) -> bytes:
        """What IPython asks for."""
        png = BytesIO()
        self.savefig(png, format="png")
        return png.getvalue()
