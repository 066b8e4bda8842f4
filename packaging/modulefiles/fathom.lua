-- Fathom for Lmod: module load fathom. packaging/install.sh fills in the prefix.
whatis("Where the I/O time of a parallel program goes, through every layer")
help("fathom run -- mpiexec -n 4 ./program, then fathom show; man fathom")
conflict("fathom")
prepend_path("PATH", "@PREFIX@/bin")
prepend_path("CPATH", "@PREFIX@/include")
-- An empty part stands for the places that man looks at by itself; the data directories have none like it.
prepend_path("MANPATH", "@PREFIX@/share/man")
append_path("MANPATH", "")
if not os.getenv("XDG_DATA_DIRS") then
	append_path("XDG_DATA_DIRS", "/usr/local/share")
	append_path("XDG_DATA_DIRS", "/usr/share")
end
prepend_path("XDG_DATA_DIRS", "@PREFIX@/share")
