! A restart file of S3D as its write_savefile writes one: use mpi, a block of each array per rank, fields of the module.
module runhydro_m
  implicit none
  integer :: nx_g, ny_g, nz_g, nx, ny, nz, npx, npy, npz, xid, yid, zid, myid, npes
  real(kind(1d0)), allocatable :: yspecies(:, :, :, :), u(:, :, :, :), pressure(:, :, :), temp(:, :, :)
end module runhydro_m

subroutine write_savefile(io)
  use mpi
  use runhydro_m
#begin_options
name: savefile;
library: LIBRARY;
processes: 4;
#end_options
#begin_parameters
nx_g: 8; ny_g: 12; nz_g: 4;
npx: 2; npy: 2; npz: nprocs / 4;
#end_parameters
#begin_dimensions
x: nx_g; y: ny_g; z: nz_g; nsc: 11; three: 3;
#end_dimensions
#begin_variables
yspecies: double, 4, nsc, z, y, x;
u: double, 4, three, z, y, x;
pressure: double, 3, z, y, x;
temp: double, 3, z, y, x;
#end_variables
  implicit none
  integer, intent(in) :: io

  if (myid == 0) write (io, '(a)') 'writing the savefile'
#begin_write
global: yspecies, <1, npz, npy, npx>, <0, 0, 0, 0>, <nsc, z / npz, y / npy, x / npx>, <0, z / npz, y / npy, x / npx>, yspecies;
global: u, <1, npz, npy, npx>, <0, 0, 0, 0>, <three, z / npz, y / npy, x / npx>, <0, z / npz, y / npy, x / npx>, u;
global: pressure, <npz, npy, npx>, <0, 0, 0>, <z / npz, y / npy, x / npx>, <z / npz, y / npy, x / npx>, pressure;
global: temp, <npz, npy, npx>, <0, 0, 0>, <z / npz, y / npy, x / npx>, <z / npz, y / npy, x / npx>, temp;
#end_write
end subroutine write_savefile

program s3d
  use mpi
  use runhydro_m
  implicit none
  integer :: ierr, i, j, k, m

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, myid, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, npes, ierr)
  nx_g = 8; ny_g = 12; nz_g = 4; npx = 2; npy = 2; npz = npes / 4
  nx = nx_g / npx; ny = ny_g / npy; nz = nz_g / npz
  xid = mod(myid, npx); yid = mod(myid / npx, npy); zid = myid / (npx * npy)
  allocate (yspecies(nx, ny, nz, 11), u(nx, ny, nz, 3), pressure(nx, ny, nz), temp(nx, ny, nz))
  ! Each element is its place in the file, counted over all arrays.
  do k = 1, nz
    do j = 1, ny
      do i = 1, nx
        do m = 1, 11
          yspecies(i, j, k, m) = place(i, j, k) + (m - 1) * nx_g * ny_g * nz_g
        end do
        do m = 1, 3
          u(i, j, k, m) = place(i, j, k) + (m + 10) * nx_g * ny_g * nz_g
        end do
        pressure(i, j, k) = place(i, j, k) + 14 * nx_g * ny_g * nz_g
        temp(i, j, k) = place(i, j, k) + 15 * nx_g * ny_g * nz_g
      end do
    end do
  end do
  call write_savefile(6)
  call MPI_Finalize(ierr)

contains

  integer function place(i, j, k)
    integer, intent(in) :: i, j, k

    place = xid * nx + i - 1 + nx_g * (yid * ny + j - 1 + ny_g * (zid * nz + k - 1))
  end function place
end program s3d
