! Collective writes through the module mpi_f08: 5 of 1000 doubles per rank, then Finalize.
program fortran_f08
  use mpi_f08
  implicit none
  integer :: rank, i
  integer(kind=MPI_OFFSET_KIND) :: offset
  double precision :: values(1000)
  type(MPI_File) :: fh
  type(MPI_Status) :: status
  character(len=1024) :: path

  call get_command_argument(1, path)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  values = rank
  call MPI_File_open(MPI_COMM_WORLD, trim(path), ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, fh)
  do i = 0, 4
    offset = (i * 4 + rank) * 8000_MPI_OFFSET_KIND
    call MPI_File_write_at_all(fh, offset, values, 1000, MPI_DOUBLE_PRECISION, status)
  end do
  call MPI_File_close(fh)
  call MPI_Finalize()
  if (rank == 0) print '(a)', 'finished'
end program fortran_f08
