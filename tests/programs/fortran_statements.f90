! fortran_statements DIR: each kind of statement that moves data, in and around one another, with known numbers of them.
program fortran_statements
  implicit none
  character(1000) :: dir
  character(40) :: text
  real(8) :: x(3)
  integer :: i, u, status, unit
  namelist /given/ x

  call get_command_argument(1, dir)
  call chdir(trim(dir))
  open (newunit=u, file='text  ', status='replace')
  do i = 1, 100
    write (u, '(i8)') i
    write (u, *) 1.5d0 * i
    if (mod(i, 10) == 0) flush (u)
  end do
  rewind (u)
  i = 0
  do
    read (u, *, iostat=status) x(1)
    if (status /= 0) exit
    i = i + 1
  end do
  write (text, '(i4)') i
  read (text, *) i
  close (u)
  open (11, file='binary', form='unformatted', access='stream')
  write (11) x
  read (11, pos=1) x
  close (11)
  open (12, status='scratch')
  write (12, nml=given)
  close (12)
  open (13, file='none/there', status='old', iostat=status)
  write (14, '(2f8.1)') nested(4), x(2)
  print *, 'done', i
contains
  real(8) function nested(record)
    integer, intent(in) :: record
    open (20, file='direct', access='direct', recl=8)
    write (20, rec=record) 2.5d0
    read (20, rec=record) nested
    inquire (20, number=unit)
    close (20)
  end function
end program
