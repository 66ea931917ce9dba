/* Tells when a code object goes away, because its address may be used again from then on.
 *
 * From 3.12 on the interpreter has watchers of code objects, eight of them in each interpreter. On 3.11, and where all
 * eight are taken, the deallocator of the type is exchanged for one that tells and then calls what stood there. Neither
 * can be seen by Python code, as something that hangs on the code object can: code with something in co_extra cannot be
 * shared with other interpreters, and every tool's free function runs for it when it dies.
 *
 * Static code (the deep-frozen modules of 3.11 and 3.12) never goes away; nor is any death told once the interpreter
 * has begun to tear itself down, when no event is told either. */
#ifndef SM_COMPAT_CODE_DEATHS_H
#define SM_COMPAT_CODE_DEATHS_H

#include "compat/compat.h"

/* From the main interpreter, with the GIL. died() is called with the GIL, maybe with an exception pending, which it
 * leaves alone, and maybe inside the garbage collector; for code of the main interpreter, on 3.11 of all. It may be
 * called for a code object that nobody has met, and for one that has just been made: then nothing that was known by its
 * address holds any more, either. */
void sm_code_deaths_begin(void (*died)(const PyCodeObject *code));
void sm_code_deaths_end(void);

#endif
