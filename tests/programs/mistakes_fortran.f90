! mistakes_fortran numbers-as-text|records|numbers-in-binary FILE: a million numbers, one WRITE each, or all by one.
program mistakes_fortran
  implicit none
  integer, parameter :: n = 1024
  real(8), allocatable :: field(:, :)
  character(1000) :: what, file
  integer :: i, j

  call get_command_argument(1, what)
  call get_command_argument(2, file)
  allocate (field(n, n))
  do j = 1, n
    do i = 1, n
      field(i, j) = 1.0d0 / (i + j)
    end do
  end do
  if (what == 'numbers-as-text') then
    open (10, file=trim(file), status='replace')
    do j = 1, n
      do i = 1, n
        write (10, *) field(i, j)
      end do
    end do
  else if (what == 'records') then
    open (10, file=trim(file), status='replace', form='unformatted')
    do j = 1, n
      do i = 1, n
        write (10) field(i, j)
      end do
    end do
  else
    open (10, file=trim(file), status='replace', form='unformatted', access='stream')
    write (10) field
  end if
  close (10)
end program
