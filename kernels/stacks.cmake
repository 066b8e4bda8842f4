# The MPI stacks of this machine. Programs that need MPI are built once per stack by the stack's own
# compiler wrapper, as a user would, and named after it: s3d_mpiio_mpich, s3d_mpiio_openmpi.
#
#   STACKS                     mpich and openmpi, those that are here
#   stack_program(NAME SOURCES... [HDF5] [PNETCDF] [NETCDF] [DEFINES ...] [LINK ...])   NAME_<stack> for each
#
# Debian builds PnetCDF and parallel netCDF for Open MPI only: programs with them have no other stack.
#
# Wrappers without a suffix are not asked: a second MPI may have taken the name.

include_guard(GLOBAL)
find_package(PkgConfig)

set(STACKS "" CACHE INTERNAL "")
foreach(stack mpich openmpi)
	find_program(MPICC_${stack} mpicc.${stack})
	find_program(MPIFORT_${stack} mpifort.${stack})
	if(MPICC_${stack})
		set(STACKS ${STACKS} ${stack} CACHE INTERNAL "")
	endif()
	if(PkgConfig_FOUND)
		pkg_check_modules(HDF5_${stack} QUIET hdf5-${stack})
	endif()
endforeach()
if(PkgConfig_FOUND)
	pkg_check_modules(PNETCDF_openmpi QUIET pnetcdf)
	pkg_check_modules(NETCDF_openmpi QUIET netcdf-mpi)
	# Its headers lie beside those of the serial library, where Debian's file for pkg-config does not look.
	find_path(NETCDF_PARALLEL_HEADERS netcdf_par.h
		PATHS ${NETCDF_openmpi_LIBDIR}/netcdf/mpi/include ${NETCDF_openmpi_INCLUDEDIR})
	pkg_check_modules(HDF5_serial QUIET hdf5-serial)
	pkg_check_modules(NETCDF_serial QUIET netcdf)
endif()

# MPICH's MPI_STATUSES_IGNORE is the address of no object: the compiler takes it for a buffer that is too small.
set(STACK_WARNINGS -Wall -Wextra -Werror -Wno-stringop-overflow CACHE INTERNAL "")

function(stack_program name)
	cmake_parse_arguments(P "HDF5;PNETCDF;NETCDF" "" "DEFINES;LINK;HEADERS" ${ARGN})
	list(TRANSFORM P_UNPARSED_ARGUMENTS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
	list(TRANSFORM P_HEADERS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
	set(sources ${P_UNPARSED_ARGUMENTS})
	foreach(stack ${STACKS})
		set(flags -std=gnu11 -O2 -g ${STACK_WARNINGS} ${P_DEFINES})
		set(compiler ${MPICC_${stack}})
		if("${sources}" MATCHES "\\.f(90)?(;|$)")
			set(compiler ${MPIFORT_${stack}})
			set(flags -O2 -g -Wall ${P_DEFINES})
			if(NOT compiler)
				continue()
			endif()
		endif()
		set(link ${P_LINK})
		set(lacks "")
		foreach(library HDF5 PNETCDF NETCDF)
			if(P_${library} AND NOT ${library}_${stack}_FOUND)
				set(lacks ${library})
			elseif(P_${library})
				if(library STREQUAL NETCDF AND NETCDF_PARALLEL_HEADERS)
					list(APPEND flags -I${NETCDF_PARALLEL_HEADERS})
				endif()
				list(APPEND flags ${${library}_${stack}_CFLAGS})
				list(APPEND link ${${library}_${stack}_LDFLAGS})
			endif()
		endforeach()
		if(lacks)
			continue()
		endif()
		set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}_${stack})
		# modules of a Fortran program go to a directory of its own
		file(MAKE_DIRECTORY ${out}.dir)
		add_custom_command(OUTPUT ${out}
			COMMAND ${CMAKE_COMMAND} -E env OMPI_CC=${CMAKE_C_COMPILER} MPICH_CC=${CMAKE_C_COMPILER}
				${compiler} ${flags} -o ${out} ${sources} ${link}
			DEPENDS ${sources} ${P_HEADERS}
			WORKING_DIRECTORY ${out}.dir
			COMMENT "Building ${name}_${stack}"
			VERBATIM)
		add_custom_target(program_${name}_${stack} ALL DEPENDS ${out})
	endforeach()
endfunction()
