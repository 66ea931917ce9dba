/* Notification when a code object dies, because its address may be reused from then on. From 3.12 on the interpreter
 * has eight watchers of code objects. On 3.11, and if all are taken, the type's deallocator is replaced by one that
 * calls the original. Static code never dies. No death is reported during finalization. */
#pragma once

#include "compat/compat.h"

/* Call died() for each death, from the main interpreter. It runs with the GIL, maybe with an exception set, which it
 * preserves, or inside the garbage collector. It may also be called for unknown and for new code. */
void sm_code_deaths_begin(void (*died)(const PyCodeObject *code));
void sm_code_deaths_end(void);
/* Watch in the running interpreter, too, which is not the main one, until it ends. Return a number, or -1 with an
 * exception set. From 3.12 on. */
int sm_code_deaths_watch_here(void);
