"""Programs whose calls the runtime does not record, as catalog/runtime-files.toml has them."""

from __future__ import annotations

from .layers import catalog_data


def c_header() -> str:
    """runtime/core/launchers.h."""
    data = catalog_data("runtime-files.toml")
    names = "\n".join(
        f'\t"{name}",' for name in (*data["launchers"], *data["shells"], *data["unrecorded"])
    )
    return f"""/* Made from catalog/runtime-files.toml by `make facts`. */
#ifndef FATHOM_LAUNCHERS_H
#define FATHOM_LAUNCHERS_H

/* Programs whose own calls are not recorded; the environment passes through them. */
/* clang-format off */
static const char *const launchers[] = {{
{names}
}};
/* clang-format on */

#endif
"""
