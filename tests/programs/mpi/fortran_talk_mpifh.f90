! Messages and collectives through mpif.h: the same calls as fortran_talk_f08.f90.
program fortran_talk_mpifh
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, i, error
  double precision :: values(1000), others(1000)
  integer :: requests(2), status(MPI_STATUS_SIZE)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  values = rank
  do i = 1, 3
    call MPI_Irecv(others, 1000, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), i, MPI_COMM_WORLD, requests(1), error)
    call MPI_Isend(values, 1000, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), i, MPI_COMM_WORLD, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  end do
  if (rank == 0) call MPI_Send(values, 10, MPI_DOUBLE_PRECISION, 1, 9, MPI_COMM_WORLD, error)
  if (rank == 1) call MPI_Recv(others, 1000, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, status, error)
  call MPI_Allreduce(MPI_IN_PLACE, values, 50, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Bcast(values, 20, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program fortran_talk_mpifh
