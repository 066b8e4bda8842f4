! What bench/generated/s3d.c calls, handed to generated Fortran.
integer(c_int) function s3d_write_by_fortran(comm, path, sizes, times, yspecies, u, pressure, temp) bind(c)
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use s3d_io
  implicit none
  integer(c_int), value :: comm
  character(kind=c_char), intent(in) :: path(*)
  integer(c_int64_t), intent(in) :: sizes(6)
  real(c_double), intent(in) :: times(2)
  real(c_double), intent(inout) :: yspecies(*), u(*), pressure(*), temp(*)
  character(len=:), allocatable :: name
  type(MPI_Comm) :: communicator
  integer :: error, i

  name = ''
  i = 1
  do while (path(i) /= c_null_char)
    name = name//path(i)
    i = i + 1
  end do
  communicator%MPI_VAL = comm
  call s3d_write(communicator, name, sizes(1), sizes(2), sizes(3), sizes(4), sizes(5), sizes(6), &
                 times(1), times(2), yspecies, u, pressure, temp, error)
  s3d_write_by_fortran = error
end function s3d_write_by_fortran
