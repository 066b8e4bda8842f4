/* What a process learnt under one run means nothing in the next. */
#ifndef FATHOM_FORGET_H
#define FATHOM_FORGET_H

void handles_forget(void);
void shapes_forget(void);
void objects_forget(void);
void names_forget(void); /* left_out.c */
void sites_forget(void);

#endif
