#%Module1.0
# Fathom for environment modules: module load fathom. packaging/install.sh fills in the prefix.
module-whatis "Where the I/O time of a parallel program goes, through every layer"
proc ModulesHelp { } {
	puts stderr "fathom run -- mpiexec -n 4 ./program, then fathom show; man fathom"
}
conflict fathom
prepend-path PATH "@PREFIX@/bin"
prepend-path CPATH "@PREFIX@/include"
# An empty part stands for the places that man looks at by itself; the data directories have none like it.
prepend-path MANPATH "@PREFIX@/share/man"
append-path MANPATH ""
if { ![info exists env(XDG_DATA_DIRS)] } {
	append-path XDG_DATA_DIRS "/usr/local/share"
	append-path XDG_DATA_DIRS "/usr/share"
}
prepend-path XDG_DATA_DIRS "@PREFIX@/share"
