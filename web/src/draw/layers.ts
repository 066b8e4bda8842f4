/** Made from catalog/layers.toml by `make facts`. */
export interface Layer {
	name: string;
	onWhite: string;
	onBlack: string;
	/** May a user choose whether it is recorded? */
	selectable: boolean;
}

/** From the program's call down. */
export const LAYERS: readonly Layer[] = [
	{ name: "netcdf", onWhite: "#3390C9", onBlack: "#56B4E9", selectable: true },
	{ name: "pnetcdf", onWhite: "#D55E00", onBlack: "#E8743B", selectable: true },
	{ name: "hdf5", onWhite: "#B87F00", onBlack: "#E69F00", selectable: true },
	{ name: "mpiio", onWhite: "#0072B2", onBlack: "#3D9BDB", selectable: true },
	{ name: "mpi", onWhite: "#B85C91", onBlack: "#CC79A7", selectable: true },
	{ name: "fortran", onWhite: "#332288", onBlack: "#8E82D6", selectable: true },
	{ name: "stdio", onWhite: "#938A00", onBlack: "#F0E442", selectable: true },
	{ name: "aio", onWhite: "#8C6BB1", onBlack: "#A68BC7", selectable: true },
	{ name: "posix", onWhite: "#008A65", onBlack: "#009E73", selectable: true },
	{ name: "dfs", onWhite: "#117733", onBlack: "#3FA35F", selectable: false },
	{ name: "daos", onWhite: "#2F8577", onBlack: "#44AA99", selectable: false },
	{ name: "threads", onWhite: "#767676", onBlack: "#8A8A8A", selectable: true },
	{ name: "user", onWhite: "#767676", onBlack: "#8A8A8A", selectable: true },
	{ name: "server", onWhite: "#A0522D", onBlack: "#C77B52", selectable: true },
	{ name: "disk", onWhite: "#A0522D", onBlack: "#C77B52", selectable: true },
	{ name: "fathom", onWhite: "#767676", onBlack: "#8A8A8A", selectable: false },
];
