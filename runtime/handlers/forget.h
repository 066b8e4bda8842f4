/* What handlers learnt under one run means nothing in the next that the process is attached to. */
#ifndef FATHOM_FORGET_H
#define FATHOM_FORGET_H

void aio_posts_forget(void);
void hdf5_events_forget(void);
void hdf5_files_forget(void);
void mpi_files_forget(void);
void mpi_requests_forget(void);
void netcdf_forget(void);
void pnetcdf_forget(void);
void uring_forget(void);
void handlers_forget(void); /* all of these */

#endif
