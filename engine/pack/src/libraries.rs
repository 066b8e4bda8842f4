//! Made from catalog/libraries.toml and layers.toml by `make facts`.

/// File names of programs and libraries begin so.
#[rustfmt::skip]
pub const MODULES: [&str; 83] = [
	"ld-linux",
	"ld-musl",
	"libc.",
	"libm.",
	"libpthread",
	"librt.",
	"libdl.",
	"libaio.",
	"liburing.",
	"libgfortran",
	"libstdc++",
	"libc++",
	"libgcc_s",
	"libgomp",
	"libomp.",
	"libiomp",
	"libflang",
	"libFortran",
	"libifcore",
	"libifport",
	"libirc.",
	"libimf.",
	"libintlc",
	"libsvml",
	"libnvf",
	"libnvc",
	"libnvhpc",
	"libpgf",
	"libcrayacc",
	"libcraymp",
	"libfi.",
	"libu.",
	"libmpi",
	"libmpich",
	"libpmpi",
	"libopen-",
	"libucp",
	"libucs",
	"libuct",
	"libucm",
	"libfabric",
	"libpsm",
	"libpmix",
	"libprrte",
	"mca_",
	"libhdf5",
	"libnetcdf",
	"libpnetcdf",
	"libadios2",
	"libsz.",
	"libaec.",
	"libz.",
	"libzstd",
	"libblosc",
	"libblosc2",
	"libH5Z",
	"libconduit",
	"libsilo",
	"libcgns",
	"libmed",
	"libgrib",
	"libeccodes",
	"libcfitsio",
	"libgdal",
	"libtiff",
	"libpng",
	"libarrow",
	"libparquet",
	"libsqlite3",
	"libdaos",
	"libdfs",
	"librados",
	"liblustreapi",
	"libpython",
	"libjulia",
	"libR.",
	"libperl",
	"libjvm",
	"libjli",
	"libjava",
	"libnio",
	"libnode",
	"libfathom",
];

/// File names of programs that run other people's code.
#[rustfmt::skip]
pub const PROGRAMS: [&str; 4] = [
	"node",
	"nodejs",
	"java",
	"R",
];

/// Shared libraries lie below these.
#[rustfmt::skip]
pub const DIRECTORIES: [&str; 5] = [
	"/lib/",
	"/lib64/",
	"/usr/lib/",
	"/usr/lib64/",
	"/usr/libexec/",
];

/// Paths of programs and libraries have this in them.
#[rustfmt::skip]
pub const FOLDERS: [&str; 3] = [
	"/site-packages/",
	"/dist-packages/",
	"/lib-dynload/",
];

/// Names as the linker knows them begin so.
#[rustfmt::skip]
pub const FUNCTIONS: [&str; 12] = [
	"_start",
	"_gfortran",
	"_Fortran",
	"_ZNSt",
	"_ZNKSt",
	"_ZSt",
	"_ZNSo",
	"_ZNSi",
	"_ZNSs",
	"_ZN9__gnu_cxx",
	"uv_",
	"Builtins_",
];

/// Names of code without a file begin so.
#[rustfmt::skip]
pub const GENERATED: [&str; 9] = [
	"Builtin:",
	"BytecodeHandler:",
	"Interpreter",
	"StubRoutines",
	"java.",
	"javax.",
	"jdk.",
	"sun.",
	"com.sun.",
];

/// Paths of source files have this in them.
#[rustfmt::skip]
pub const SOURCES: [&str; 5] = [
	"/include/c++/",
	"/libgfortran/",
	"/libstdc++-v3/",
	"node:",
	"/node_modules/",
];

/// Layers, and a function that every program with one has.
#[rustfmt::skip]
pub const TELLING: [(&str, &str); 4] = [
	("netcdf", "nc_create"),
	("pnetcdf", "ncmpi_create"),
	("hdf5", "H5Dwrite"),
	("mpiio", "MPI_File_open"),
];
