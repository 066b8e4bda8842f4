! S3D-IO in Fortran: MPI-IO by the module mpi_f08, collective calls. The files of s3d_mpiio, and its arguments:
!   [-r] [-a DIRECTORY] [-c CHECKPOINTS] NX NY NZ NPX NPY NPZ DIRECTORY
module s3d
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  implicit none

  integer, parameter :: variables = 4, doubles = 8
  integer, parameter :: components(variables) = [11, 3, 1, 1]

  character(len=1024) :: directory = '', account = ''
  integer :: points(3), processes(3), checkpoints = 5
  logical :: check = .false.
  integer :: rank, ranks
  integer :: start(3), count(3) ! this rank's block in x, y, z
  integer :: account_unit = 0

contains

  subroutine fail(what)
    character(len=*), intent(in) :: what

    write (error_unit, '(2a)') 's3d_f08: ', trim(what)
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine fail

  subroutine checked(error, call_name, path)
    integer, intent(in) :: error
    character(len=*), intent(in) :: call_name, path
    character(len=MPI_MAX_ERROR_STRING) :: why
    integer :: length

    if (error == MPI_SUCCESS) return
    call MPI_Error_string(error, why, length)
    call fail(call_name//': '//trim(path)//': '//why(:length))
  end subroutine checked

  integer function number(position)
    integer, intent(in) :: position
    character(len=32) :: word
    integer :: error

    call get_command_argument(position, word)
    read (word, *, iostat=error) number
    if (error /= 0 .or. number < 1) call fail(trim(word)//': not a number from 1')
  end function number

  subroutine arguments()
    character(len=1024) :: word
    integer :: at, i

    at = 1
    do
      call get_command_argument(at, word)
      select case (word)
      case ('-r')
        check = .true.
      case ('-a')
        at = at + 1
        call get_command_argument(at, account)
      case ('-c')
        at = at + 1
        checkpoints = number(at)
      case default
        exit
      end select
      at = at + 1
    end do
    if (command_argument_count() /= at + 6) &
      call fail('arguments: [-r] [-a DIRECTORY] [-c CHECKPOINTS] NX NY NZ NPX NPY NPZ DIRECTORY')
    do i = 1, 3
      points(i) = number(at + i - 1)
      processes(i) = number(at + i + 2)
    end do
    call get_command_argument(at + 6, directory)
    if (product(processes) /= ranks) call fail('NPX * NPY * NPZ is not the number of ranks')
    if (any(mod(points, processes) /= 0)) call fail('each number of points must divide by its processes')
  end subroutine arguments

  subroutine decompose()
    integer :: i, rest

    rest = rank
    count = points/processes
    do i = 1, 3
      start(i) = mod(rest, processes(i))*count(i)
      rest = rest/processes(i)
    end do
  end subroutine decompose

  ! Values of one line of this rank's block: a function of the place in the variable, as in common/layout.c.
  subroutine line(values, variable, checkpoint, y, z, component)
    real(real64), intent(out) :: values(:)
    integer, intent(in) :: variable, checkpoint, y, z, component
    integer(int64) :: place, seed
    integer :: x

    seed = int(checkpoint, int64)*64 + variable - 1
    place = int(component - 1, int64)*points(3) + start(3) + z - 1
    place = (place*points(2) + start(2) + y - 1)*points(1) + start(1)
    do x = 1, size(values)
      values(x) = real(mod(place + x - 1 + 1000003*seed, 16777213_int64), real64)
    end do
  end subroutine line

  subroutine fill(block, variable, checkpoint)
    real(real64), intent(out) :: block(:, :, :, :)
    integer, intent(in) :: variable, checkpoint
    integer :: y, z, component

    do component = 1, size(block, 4)
      do z = 1, size(block, 3)
        do y = 1, size(block, 2)
          call line(block(:, y, z, component), variable, checkpoint, y, z, component)
        end do
      end do
    end do
  end subroutine fill

  integer(int64) function first_byte(variable)
    integer, intent(in) :: variable

    first_byte = sum(components(:variable - 1))*product(int(points, int64))*doubles
  end function first_byte

  subroutine view(file, path, variable)
    type(MPI_File), intent(in) :: file
    character(len=*), intent(in) :: path
    integer, intent(in) :: variable
    type(MPI_Datatype) :: type
    integer :: error

    call MPI_Type_create_subarray(4, [points, components(variable)], [count, components(variable)], &
                                  [start, 0], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, type)
    call MPI_Type_commit(type)
    call MPI_File_set_view(file, int(first_byte(variable), MPI_OFFSET_KIND), MPI_DOUBLE_PRECISION, type, &
                           'native', MPI_INFO_NULL, error)
    call checked(error, 'MPI_File_set_view', path)
    call MPI_Type_free(type)
  end subroutine view

  ! The program's own account: first byte, bytes to the last, bytes moved.
  subroutine tell(path, variable, kind)
    character(len=*), intent(in) :: path, kind
    integer, intent(in) :: variable
    integer(int64) :: first, last, bytes

    if (account_unit == 0) return
    first = start(1) + points(1)*(start(2) + int(points(2), int64)*start(3))
    last = start(3) + count(3) - 1 + int(components(variable) - 1, int64)*points(3)
    last = start(1) + count(1) - 1 + points(1)*(start(2) + count(2) - 1 + points(2)*last)
    bytes = product(int(count, int64))*components(variable)*doubles
    write (account_unit, '(i0,5a,3(i0,:,"|"))') rank, '|mpiio|', kind, '|', trim(path), '|||', &
      first_byte(variable) + first*doubles, (last - first + 1)*doubles, bytes
  end subroutine tell

  subroutine move(file, path, checkpoint, reading)
    type(MPI_File), intent(in) :: file
    character(len=*), intent(in) :: path
    integer, intent(in) :: checkpoint
    logical, intent(in) :: reading
    real(real64), allocatable :: block(:, :, :, :), right(:, :, :, :)
    type(MPI_Status) :: status
    integer :: variable, error, moved

    do variable = 1, variables
      allocate (block(count(1), count(2), count(3), components(variable)))
      call view(file, path, variable)
      if (reading) then
        block = -1
        call tell(path, variable, 'read')
        call MPI_File_read_all(file, block, size(block), MPI_DOUBLE_PRECISION, status, error)
        allocate (right, mold=block)
        call fill(right, variable, checkpoint)
        if (any(block /= right)) call fail('read back: '//trim(path)//': a wrong value')
        deallocate (right)
      else
        call fill(block, variable, checkpoint)
        call tell(path, variable, 'write')
        call MPI_File_write_all(file, block, size(block), MPI_DOUBLE_PRECISION, status, error)
      end if
      call checked(error, 'data', path)
      call MPI_Get_count(status, MPI_DOUBLE_PRECISION, moved)
      if (moved /= size(block)) call fail('data: '//trim(path)//': moved fewer elements than asked')
      deallocate (block)
    end do
  end subroutine move

  subroutine one_file(checkpoint, reading)
    integer, intent(in) :: checkpoint
    logical, intent(in) :: reading
    character(len=1200) :: path
    type(MPI_File) :: file
    integer :: mode, error

    write (path, '(2a,es9.3e2,a)') trim(directory), '/pressure_wave_test.', 0.25*checkpoint, '.field.bin'
    mode = merge(MPI_MODE_RDONLY, ior(MPI_MODE_CREATE, MPI_MODE_RDWR), reading)
    call MPI_File_open(MPI_COMM_WORLD, trim(path), mode, MPI_INFO_NULL, file, error)
    call checked(error, 'MPI_File_open', path)
    call move(file, path, checkpoint, reading)
    call MPI_File_close(file, error)
    call checked(error, 'MPI_File_close', path)
  end subroutine one_file
end module s3d

program s3d_f08
  use s3d
  implicit none
  real(real64) :: began
  integer :: checkpoint
  character(len=1200) :: path

  call MPI_Init()
  began = MPI_Wtime()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call arguments()
  call decompose()
  if (account /= '') then
    write (path, '(2a,i0,a)') trim(account), '/', rank, '.txt'
    open (newunit=account_unit, file=trim(path), status='replace', action='write')
  end if
  do checkpoint = 0, checkpoints - 1
    call one_file(checkpoint, .false.)
  end do
  call MPI_Barrier(MPI_COMM_WORLD)
  if (check) then
    do checkpoint = 0, checkpoints - 1
      call one_file(checkpoint, .true.)
    end do
  end if
  if (account_unit /= 0) close (account_unit)
  if (rank == 0) print '(a,f0.6)', 'job_seconds=', MPI_Wtime() - began
  call MPI_Finalize()
end program s3d_f08
