! PnetCDF from Fortran: its binding lies in the library itself and calls the C functions there.
! The trace must show each call once, with the variable, the shape in C's order, and the line it was called from.
program pnetcdf_fortran
   implicit none
   include 'mpif.h'
   include 'pnetcdf.inc'
   integer, parameter :: columns = 4
   character(len=256) :: name
   integer :: ierr, rank, ranks, file, x, y, variable, request(1), status(1)
   integer(kind=MPI_OFFSET_KIND) :: start(2), count(2), extent
   real(kind=8) :: block(columns, 2)

   call MPI_Init(ierr)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
   call get_command_argument(1, name)
   block = rank

   call must(nfmpi_create(MPI_COMM_WORLD, trim(name), NF_CLOBBER, MPI_INFO_NULL, file))
   extent = columns
   call must(nfmpi_def_dim(file, 'x', extent, x))
   extent = 2 * ranks
   call must(nfmpi_def_dim(file, 'y', extent, y))
   call must(nfmpi_def_var(file, 'density', NF_DOUBLE, 2, (/x, y/), variable))
   call must(nfmpi_enddef(file))

   start = (/1, 2 * rank + 1/)
   count = (/columns, 2/)
   call must(nfmpi_put_vara_double_all(file, variable, start, count, block))
   call must(nfmpi_iput_vara_double(file, variable, start, count, block, request(1)))
   call must(nfmpi_wait_all(file, 1, request, status))
   call must(nfmpi_close(file))
   call MPI_Finalize(ierr)

contains

   subroutine must(code)
      integer, intent(in) :: code

      if (code /= NF_NOERR) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
   end subroutine
end program
