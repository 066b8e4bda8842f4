! Regions by the Fortran module, around independent MPI-IO writes.
program regions
  use mpi_f08
  use fathom
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  type(MPI_File) :: file
  integer :: rank, step, data(2) = 1
  integer(int64) :: stream, seq
  character(256) :: path

  call get_command_argument(1, path)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call fathom_begin('checkpoint')
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file)
  do step = 1, 3
    call fathom_begin('step', 'number', int(step, int64), object='density')
    call MPI_File_write_at(file, int(8 * (4 * step + rank), MPI_OFFSET_KIND), data, 2, MPI_INTEGER, MPI_STATUS_IGNORE)
    call fathom_mark('written')
    call fathom_end('step')
  end do
  call MPI_File_close(file)
  call fathom_current(stream, seq)
  call fathom_begin('serve')
  call fathom_call_origin(stream, seq)
  call fathom_end()
  call fathom_end('checkpoint')
  call MPI_Finalize()
  if (rank == 0) print '(a)', 'done'
end program
