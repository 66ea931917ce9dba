/* The settings that recorders declare, as keywords of start(). */
#pragma once

#include "engine/engine.h"

/* Move the keywords that are recorders' settings from one dict to another. Return -1 with an exception set. */
int sm_settings_split(PyObject *keywords, PyObject *own);

/* Set what the recorders of these pairs declare to what is given, or to the defaults. Return -1 with an exception set:
 * for a value that a setting cannot have, or a setting of another recorder. */
int sm_settings_take(const sm_pair *pairs, uint32_t count, PyObject *own);

/* Add the default numbers of all recorders to a dict. Return -1 with an exception set. */
int sm_settings_defaults(PyObject *defaults);

/* Return the word's number, or -1 with a ValueError set. */
int sm_settings_word(const char *what, const char *given, const char *const *words);
