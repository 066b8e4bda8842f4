/* A transport that damages what passes: fault:SEED,KIND=PERMILLE,...:ADDRESS. Of the frames that are sent, so many in a
 * thousand are lost with the connection (drop), sent half (truncate), twice (duplicate; requests only) or 5 ms late (delay).
 * Of those both ways so many are held back and passed by up to six others (reorder). So many of the receives end
 * the connection (deaf) or have flipped bits (garble). */
#ifndef FAULT_H
#define FAULT_H

#include <stdint.h>

void fault_add(void);
/* Frames of closed connections that passed others. */
extern uint64_t fault_reordered;

#endif
