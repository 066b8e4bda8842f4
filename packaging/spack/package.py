# SPDX-License-Identifier: BSD-3-Clause
"""Spack recipe. Copy it into a package repository as packages/fathom/package.py, then, in a
checkout of Fathom: spack dev-build fathom@main."""

from spack.package import *


class Fathom(Package):
    """Shows where the I/O time of a parallel program goes, from its own call down to the disk."""

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("web", default=True, description="fathom view and fathom report")
    variant("fuse", default=False, description="fathom forward mount")
    variant("ofi", default=False, description="forwarding over libfabric")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("node-js@20.19:", type="build", when="+web")
    depends_on("npm", type="build", when="+web")
    depends_on("pkgconfig", type="build", when="+fuse")
    depends_on("libfuse@3.12:", when="+fuse")
    depends_on("libfabric", type=("build", "run"), when="+ofi")
    depends_on("python@3.11:", type=("build", "run"))

    # ELF and the GNU C library. MPI and HDF5 are the traced program's own: nothing to depend on.
    requires("platform=linux")

    def install(self, spec, prefix):
        which("cmake", required=True)("-S", ".", "-B", "build", "-G", "Ninja")
        which("ninja", required=True)("-C", "build", "installed")
        which("cargo", required=True)("build", "--release", "--manifest-path", "engine/Cargo.toml")
        if spec.satisfies("+web"):
            with working_dir("web"):
                which("npm", required=True)("ci")
                which("npm", required=True)("run", "build")
        which("bash", required=True)("packaging/install.sh", prefix)
