//! Made from catalog/layers.toml by `make facts`.

/// By bit of the gate, as on the control page.
#[rustfmt::skip]
pub const LAYERS: [&str; 13] = [
	"posix",
	"mpiio",
	"hdf5",
	"mpi",
	"pnetcdf",
	"netcdf",
	"stdio",
	"aio",
	"threads",
	"user",
	"server",
	"disk",
	"fortran",
];
