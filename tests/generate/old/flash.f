c     A checkpoint of FLASH as its old checkpoint_wr writes one: fixed
c     form, mpif.h, common blocks, blocks of 8 x 8 x 8 zones.
      subroutine checkpoint_wr(filenum)
#begin_options
name: flash;
library: LIBRARY;
processes: 4;
communicator: flcomm;
status: ierr;
#end_options
#begin_dimensions
blocks: 20; k: 8; j: 8; i: 8; three: 3;
#end_dimensions
#begin_variables
coord: double, 2, blocks, three;
dens: double, 4, blocks, k, j, i;
pres: double, 4, blocks, k, j, i;
#end_variables
      implicit none
      include 'mpif.h'
      integer filenum, nblk, mype, flcomm, ierr
      parameter (nblk = 5)
      double precision coord(3, nblk), dens(8, 8, 8, nblk),
     &     pres(8, 8, 8, nblk)
      common /block/ coord, dens, pres, mype, flcomm

      if (mype .eq. 0 .and. filenum .gt. 0) print *, 'checkpoint',
     &     filenum
#begin_write
array: *, coord, rank * 5, 5, 0, three, coord;
array: *, dens, rank * 5, 5, 0, k, 0, j, 0, i, dens;
array: *, pres, rank * 5, 5, 0, k, 0, j, 0, i, pres;
#end_write
      if (ierr .ne. 0) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
      end

      program flash
      implicit none
      include 'mpif.h'
      integer nblk, mype, flcomm, ierr, i, j, k, b
      parameter (nblk = 5)
      double precision coord(3, nblk), dens(8, 8, 8, nblk),
     &     pres(8, 8, 8, nblk)
      common /block/ coord, dens, pres, mype, flcomm

      call MPI_Init(ierr)
      call MPI_Comm_dup(MPI_COMM_WORLD, flcomm, ierr)
      call MPI_Comm_rank(flcomm, mype, ierr)
c     Each element is its place in the file, counted over all arrays.
      do 40 b = 1, nblk
         do 10 i = 1, 3
            coord(i, b) = i - 1 + 3 * (b - 1 + nblk * mype)
 10      continue
         do 30 k = 1, 8
            do 20 j = 1, 8
               do 15 i = 1, 8
                  dens(i, j, k, b) = 60 + i - 1 + 8 * (j - 1 + 8 *
     &                 (k - 1 + 8 * (b - 1 + nblk * mype)))
                  pres(i, j, k, b) = dens(i, j, k, b) + 10240
 15            continue
 20         continue
 30      continue
 40   continue
      call checkpoint_wr(0)
      call MPI_Finalize(ierr)
      end
