#include "module/settings.h"

#include <string.h>

#include "compat/exception.h"
#include "module/wiring.h"

#define EACH_SETTING(recorder, setting)                                                                                \
    for (const sm_setting *setting = (recorder)->settings; setting != NULL && setting->name != NULL; setting++)

int sm_settings_split(PyObject *keywords, PyObject *own) {
    for (const sm_known_recorder *known = sm_recorders; known->recorder != NULL; known++) {
        EACH_SETTING(known->recorder, setting) {
            PyObject *value = PyDict_GetItemString(keywords, setting->name);
            if (value != NULL && (PyDict_SetItemString(own, setting->name, value) < 0 ||
                                  PyDict_DelItemString(keywords, setting->name) < 0))
                return -1;
        }
    }
    return 0;
}

int sm_settings_word(const char *what, const char *given, const char *const *words) {
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], given) == 0)
            return i;
    }
    return SM_FAIL(PyExc_ValueError, "%s cannot be '%s'", what, given);
}

static int set(const sm_setting *setting, PyObject *given) {
    if (setting->kind == SM_NUMBER) {
        unsigned long long number = given ? PyLong_AsUnsignedLongLong(given) : setting->standard;
        *(uint64_t *)setting->value = number;
        return number == (unsigned long long)-1 && PyErr_Occurred() ? -1 : 0;
    }
    if (setting->kind == SM_FLAG) {
        int truth = given ? PyObject_IsTrue(given) : (int)setting->standard;
        *(bool *)setting->value = truth > 0;
        return truth < 0 ? -1 : 0;
    }
    const char *text = given ? PyUnicode_AsUTF8(given) : setting->words[setting->standard];
    int number = text != NULL ? sm_settings_word(setting->name, text, setting->words) : -1;
    *(int *)setting->value = number < 0 ? 0 : number;
    return number < 0 ? -1 : 0;
}

int sm_settings_take(const sm_pair *pairs, uint32_t count, PyObject *own) {
    Py_ssize_t taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        EACH_SETTING(pairs[i].recorder, setting) {
            PyObject *given = PyDict_GetItemString(own, setting->name);
            if (set(setting, given) < 0)
                return -1;
            taken += given != NULL;
        }
    }
    if (taken == PyDict_GET_SIZE(own))
        return 0;
    return SM_FAIL(PyExc_ValueError, "%s has not all of these settings: %R", pairs[count - 1].recorder->name, own);
}

int sm_settings_defaults(PyObject *defaults) {
    for (const sm_known_recorder *known = sm_recorders; known->recorder != NULL; known++) {
        EACH_SETTING(known->recorder, setting) {
            PyObject *number = setting->kind == SM_NUMBER ? PyLong_FromUnsignedLongLong(setting->standard) : NULL;
            int done = number != NULL ? PyDict_SetItemString(defaults, setting->name, number) : 0;
            Py_XDECREF(number);
            if (done < 0 || PyErr_Occurred())
                return -1;
        }
    }
    return 0;
}
