! Collective writes through the module mpi: 5 of 1000 doubles per rank, then Finalize.
program fortran_mpi
  use mpi
  implicit none
  integer :: ierr, rank, fh, i
  integer(kind=MPI_OFFSET_KIND) :: offset
  double precision :: values(1000)
  integer :: status(MPI_STATUS_SIZE)
  character(len=1024) :: path

  call get_command_argument(1, path)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  values = rank
  call MPI_File_open(MPI_COMM_WORLD, trim(path), ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, fh, ierr)
  if (ierr /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 99, ierr)
  do i = 0, 4
    offset = (i * 4 + rank) * 8000_MPI_OFFSET_KIND
    call MPI_File_write_at_all(fh, offset, values, 1000, MPI_DOUBLE_PRECISION, status, ierr)
    if (ierr /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 98, ierr)
  end do
  call MPI_File_close(fh, ierr)
  call MPI_Finalize(ierr)
  if (rank == 0) print '(a)', 'finished'
end program fortran_mpi
