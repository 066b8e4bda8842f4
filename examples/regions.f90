! A time loop that writes a checkpoint every few steps, with its parts named for Fathom.
!
!   gfortran $PREFIX/include/fathom.f90 regions.f90 -o regions
!   fathom run -o regions -- ./regions
program regions
  use fathom
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  integer :: step, unit
  double precision :: density(65536)

  do step = 0, 19
    call fathom_begin('step', 'number', int(step, int64))
    density = step
    if (mod(step, 5) == 0) then
      call fathom_begin('checkpoint', object='density')
      open (newunit=unit, file='out', form='unformatted', access='stream', status='replace')
      write (unit) density
      close (unit)
      call fathom_end('checkpoint')
    end if
    call fathom_end('step')
  end do
end program
