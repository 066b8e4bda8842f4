/* What a process that is recorded has to be watched for. */
#ifndef FATHOM_START_H
#define FATHOM_START_H

/* Ends and forks. Once: what is registered stays, whatever run comes and goes. */
void start_watch(void);

#endif
