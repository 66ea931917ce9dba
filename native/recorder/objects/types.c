/* Types: from the address of a type object to a name with its facts.
 *
 * A type is examined when its first object is born, in the middle of that allocation. So nothing here may make a Python
 * object or run Python code: names come from the type's own fields, and the module from its dict.
 *
 * Classes are made in loops, too, so types are interned by module, qualified name, flags and basic size. The key by
 * address is removed when the type object is destroyed, which is an event like any other. More than MOST_TYPES
 * different types are counted as one. */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/map.h"
#include "code/text.h"
#include "compat/object_sizes.h"
#include "file/tables.h"
#include "recorder/objects/store.h"

#define MOST_TYPES 65536

static struct {
    /* Guard: the GIL. */
    sm_map keys;
    sm_objects_type *others; /* one type for all beyond MOST_TYPES; not found by content */
} types;

/* Made only once, outside recordings. */
static PyObject *name_of_module, *name_of_sizeof;

bool sm_objects_types_prepare(void) {
    if (name_of_module == NULL)
        name_of_module = PyUnicode_InternFromString("__module__");
    if (name_of_sizeof == NULL)
        name_of_sizeof = PyUnicode_InternFromString("__sizeof__");
    return name_of_module != NULL && name_of_sizeof != NULL;
}

/* Look up a name in the type's own dict, as sm_look_up does. */
static int look(PyTypeObject *type, PyObject *name, char **text) {
    return sm_look_up(sm_type_dict(type), name, text);
}

/* Return 1 if the type computes its size by a __sizeof__ of its own, because its objects have data elsewhere; -1 if
 * that cannot be known now. */
static int is_elsewhere(PyTypeObject *type) {
    if (PyType_HasFeature(type, Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_UNICODE_SUBCLASS))
        return 0;
    PyObject *mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro != NULL && PyTuple_Check(mro) && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        if (base == &PyBaseObject_Type || !PyType_Check((PyObject *)base))
            continue;
        int found = look(base, name_of_sizeof, NULL);
        if (found != 0)
            return found;
    }
    return 0;
}

/* Return false if they cannot be known now. */
static bool find_facts(sm_objects_type *type, PyTypeObject *object) {
    bool heap = PyType_HasFeature(object, Py_TPFLAGS_HEAPTYPE);
    bool finalizer = object->tp_finalize != NULL || object->tp_del != NULL;
    type->size = sm_type_bytes(object);
    type->basic_size = object->tp_basicsize;
    type->flags = heap ? SM_TYPE_FLAG_HEAP : 0;
    type->flags |= PyType_IS_GC(object) ? SM_TYPE_FLAG_GC : 0;
    type->flags |= finalizer ? SM_TYPE_FLAG_FINALIZER : 0;
    /* Attributes may be in a separate dict, whose size grows with the attributes of the class. */
    bool attributes = PyType_HasFeature(object, Py_TPFLAGS_MANAGED_DICT) || object->tp_dictoffset != 0;
    int elsewhere = attributes ? 1 : is_elsewhere(object);
    type->flags |= elsewhere ? SM_TYPE_FLAG_OUTSIDE : 0;
    type->items = (uint8_t)sm_items_of(object);
    type->item_size = (uint16_t)(object->tp_itemsize < UINT16_MAX ? object->tp_itemsize : UINT16_MAX);
    if (type->items == SM_ITEMS_UNKNOWN) {
        type->flags |= SM_TYPE_FLAG_VARIABLE | SM_TYPE_FLAG_OUTSIDE;
    } else if (type->items != SM_NO_ITEMS) {
        type->flags |= SM_TYPE_FLAG_VARIABLE;
        type->special |= SM_OBJECTS_HAS_ITEMS;
    }
    if (PyType_HasFeature(object, Py_TPFLAGS_TYPE_SUBCLASS) || (SM_FREE_THREADED && object == &PyCode_Type))
        type->special |= SM_OBJECTS_IS_KEY;
    if (heap && finalizer)
        type->special |= SM_OBJECTS_MAY_RESURRECT;
    return elsewhere >= 0;
}

/* Copy module and name separately; a copy is NULL if out of memory, or if it cannot be known now. */
static void find_names(PyTypeObject *object, char **module, char **name) {
    if (PyType_HasFeature(object, Py_TPFLAGS_HEAPTYPE)) {
        PyObject *qualname = ((PyHeapTypeObject *)object)->ht_qualname;
        *name = qualname != NULL && PyUnicode_Check(qualname) ? sm_copy_text(qualname) : sm_copy_chars(object->tp_name);
        (void)look(object, name_of_module, module); /* "" unless it is a str */
        return;
    }
    const char *dot = strrchr(object->tp_name, '.');
    *name = sm_copy_chars(dot != NULL ? dot + 1 : object->tp_name);
    *module = sm_copy_chars(dot != NULL ? object->tp_name : "builtins");
    if (dot != NULL && *module != NULL)
        (*module)[dot - object->tp_name] = '\0';
}

static bool same_content(const void *record, const void *content) {
    const sm_objects_type *type = record, *wanted = content;
    unsigned flags = type->flags & ~SM_TYPE_FLAG_ESTIMATED; /* set since, by deaths of its objects */
    return flags == wanted->flags && type->special == wanted->special && type->basic_size == wanted->basic_size &&
           strcmp(type->name, wanted->name) == 0 && strcmp(type->module, wanted->module) == 0;
}

/* Make a type that owns these names. key: as for sm_interned_add. */
static sm_objects_type *new_type(const sm_objects_type *facts, uint64_t key) {
    sm_objects_type *type = sm_aligned(64, sizeof *type);
    if (type == NULL)
        return NULL;
    *type = *facts;
    type->id = sm_objects.types.count;
    sm_interned_add(&sm_objects.types, key, type);
    sm_objects.keys_bytes += sizeof *type + strlen(type->name) + strlen(type->module);
    return type;
}

/* Return the interned type, or NULL if out of memory. A new one owns the names. With the engine's lock. */
static sm_objects_type *intern(sm_objects_type *facts, bool *new) {
    if (!sm_interned_grow(&sm_objects.types, 256))
        return NULL;
    uint64_t key = sm_hash_text((uint64_t)facts->basic_size << 8 ^ facts->flags, facts->name);
    key = sm_hash_text(key, facts->module);
    sm_objects_type *type = sm_interned_find(&sm_objects.types, &key, same_content, facts);
    if (type != NULL || (type = types.others) != NULL)
        return type;
    bool too_many = sm_objects.types.count >= MOST_TYPES;
    if (too_many) {
        sm_free(facts->name);
        sm_free(facts->module);
        *facts = (sm_objects_type){.module = sm_copy_chars(""), .name = sm_copy_chars("<other types>")};
        if (facts->module == NULL || facts->name == NULL)
            return NULL;
    }
    type = new_type(facts, too_many ? 0 : key);
    *new = type != NULL;
    if (too_many)
        types.others = type;
    return type;
}

static sm_objects_type *find_or_make(PyTypeObject *object) {
    sm_objects_type facts = {0}, *type = NULL;
    bool known, new = false;
    SM_OBJECTS_AWAY({
        known = find_facts(&facts, object);
        find_names(object, &facts.module, &facts.name);
    });
    if (known && facts.module != NULL && facts.name != NULL) {
        sm_engine_lock();
        type = intern(&facts, &new);
        sm_engine_unlock();
    }
    if (!new) {
        sm_free(facts.module);
        sm_free(facts.name);
    }
    return type;
}

sm_objects_type *sm_objects_find_type(PyTypeObject *object) {
    uint64_t hash = ((uintptr_t)object >> 4) * 0x9E3779B97F4A7C15u;
    sm_objects_type_key *key = sm_map_find(&types.keys, (uintptr_t)object, sizeof *key);
    if (key == NULL) {
        sm_objects_type *type = !sm_is_finalizing() ? find_or_make(object) : NULL;
        key = type != NULL ? sm_map_make(&types.keys, (uintptr_t)object, sizeof *key, 256) : NULL;
        if (key == NULL) {
            sm_objects.lost_types++;
            return NULL;
        }
        key->type = type;
    }
    return (sm_objects_hot.types[hash >> 54] = *key).type;
}

void sm_objects_type_gone(const PyTypeObject *object) {
    sm_objects_type_key *gone = sm_map_find(&types.keys, (uintptr_t)object, sizeof *gone);
    if (gone == NULL)
        return;
    sm_map_remove(&types.keys, gone, sizeof *gone);
    uint64_t hash = ((uintptr_t)object >> 4) * 0x9E3779B97F4A7C15u;
    if (sm_objects_hot.types[hash >> 54].key == (uintptr_t)object)
        sm_objects_hot.types[hash >> 54].key = 0;
}

void sm_objects_types_forget_keys(void) {
    memset(sm_objects_hot.types, 0, sizeof sm_objects_hot.types);
    sm_map_clear(&types.keys, sizeof(sm_objects_type_key));
}

bool sm_objects_types_check(void) {
    return sm_map_check(&types.keys, sizeof(sm_objects_type_key));
}

void sm_objects_types_free(void) {
    for (uint32_t i = 0; i < sm_objects.types.count; i++) {
        sm_objects_type *type = sm_objects.types.records[i];
        sm_free(type->module);
        sm_free(type->name);
        free(type);
    }
    sm_interned_free(&sm_objects.types);
    sm_map_free(&types.keys);
    memset(&types, 0, sizeof types);
    memset(sm_objects_hot.types, 0, sizeof sm_objects_hot.types);
}
