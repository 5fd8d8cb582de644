/* clock.h -- how long each kind of phase took, where that is asked for. */
#ifndef FMF_CLOCK_H
#define FMF_CLOCK_H

/* The time in seconds; 0 unless the thread's phases are watched. */
double fmf_clock(void);
/* Notes a phase that began then and has ended now. */
void fmf_note(const char *name, double began);

#endif
