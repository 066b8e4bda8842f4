! Strided independent writes and atomic mode from Fortran; ends with 1 and a line where no order of the writes can have left what is read.
!
!   strided_fortran FILE
module strided
  use mpi_f08
  implicit none
  integer, parameter :: block = 5, blocks = 2000, ints = block * blocks, turns = 5
  integer :: rank, ranks, int_bytes

contains

  subroutine must_be(what, turn, found, wanted)
    character(*), intent(in) :: what
    integer, intent(in) :: turn, found, wanted

    if (found == wanted) return
    print '(a, i0, 3a, i0, a, i0, a, i0)', 'rank ', rank, ': ', what, ', turn ', turn, ': ', found, ' is not ', wanted
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  ! Every `period`th block of the file, from block `first` on.
  subroutine see(file, first, period)
    type(MPI_File), intent(in) :: file
    integer, intent(in) :: first, period
    type(MPI_Datatype) :: every

    call MPI_Type_vector(ints, block, block * period, MPI_INTEGER, every)
    call MPI_Type_commit(every)
    call MPI_File_set_view(file, int(first * block * int_bytes, MPI_OFFSET_KIND), MPI_INTEGER, every, 'native', MPI_INFO_NULL)
    call MPI_Type_free(every)
  end subroutine

  subroutine interleaved(file, turn)
    type(MPI_File), intent(in) :: file
    integer, intent(in) :: turn
    integer :: data(ints), other, i

    data = [(turn * 1000000 + rank * 100000 + i, i = 1, ints)]
    call see(file, rank, ranks)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_write(file, data, ints, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_sync(file)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_sync(file)
    other = modulo(rank + 1, ranks)
    call see(file, other, ranks)
    call MPI_File_read(file, data, ints, MPI_INTEGER, MPI_STATUS_IGNORE)
    do i = 1, ints
      call must_be('strided', turn, data(i), turn * 1000000 + other * 100000 + i)
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  ! Each rank's write overlaps the next one's by half: every half is wholly of one of the two that wrote it.
  subroutine overlapping(file, turn)
    type(MPI_File), intent(in) :: file
    integer, intent(in) :: turn
    integer :: data(ints), half, i

    data = turn * 100 + rank
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_write_at(file, int(rank * (ints / 2), MPI_OFFSET_KIND), data, ints, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_Barrier(MPI_COMM_WORLD)
    do half = 0, ranks
      call MPI_File_read_at(file, int(half * (ints / 2), MPI_OFFSET_KIND), data, ints / 2, MPI_INTEGER, MPI_STATUS_IGNORE)
      if (data(1) /= turn * 100 + half) call must_be('atomic mode, whose', turn, data(1), turn * 100 + half - 1)
      if (half == ranks) call must_be('atomic mode, the last half', turn, data(1), turn * 100 + ranks - 1)
      do i = 2, ints / 2
        call must_be('atomic mode', turn, data(i), data(1))
      end do
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine
end module

program strided_fortran
  use strided
  type(MPI_File) :: file
  type(MPI_Info) :: info
  character(1024) :: path
  integer :: turn

  call get_command_argument(1, path)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Type_size(MPI_INTEGER, int_bytes)
  call MPI_Info_create(info)
  call MPI_Info_set(info, 'romio_ds_write', 'enable')
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, info, file)
  do turn = 1, turns
    call interleaved(file, turn)
  end do
  call MPI_File_set_atomicity(file, .true.)
  call see(file, 0, 1)
  do turn = 1, turns
    call overlapping(file, turn)
  end do
  call see(file, 1, 2)
  do turn = turns + 1, 2 * turns
    call overlapping(file, turn)
  end do
  call MPI_File_close(file)
  call MPI_Info_free(info)
  call MPI_Finalize()
end program
