/* A transport that damages what passes: fault:SEED,KIND=PERMILLE,...:ADDRESS. Of the frames that are sent, so many in a
 * thousand are lost with the connection (drop), sent half (truncate), twice (duplicate; requests only), after the next (reorder) or
 * 5 ms late (delay); so many of the receives end the connection (deaf) or
 * have flipped bits (garble). */
#ifndef FAULT_H
#define FAULT_H

void fault_add(void);

#endif
