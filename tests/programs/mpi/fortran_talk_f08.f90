! Messages and collectives through the module mpi_f08: the same calls as fortran_talk_mpifh.f90.
program fortran_talk_f08
  use mpi_f08
  implicit none
  integer :: rank, ranks, i
  double precision :: values(1000), others(1000)
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  values = rank
  do i = 1, 3
    call MPI_Irecv(others, 1000, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), i, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(values, 1000, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), i, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  end do
  if (rank == 0) call MPI_Send(values, 10, MPI_DOUBLE_PRECISION, 1, 9, MPI_COMM_WORLD)
  if (rank == 1) call MPI_Recv(others, 1000, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, status)
  call MPI_Allreduce(MPI_IN_PLACE, values, 50, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Bcast(values, 20, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Finalize()
end program fortran_talk_f08
