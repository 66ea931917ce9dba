/* The memory of objects, from fields of types and of well-known objects, because __sizeof__() would run code. */
#pragma once

#include "compat/compat.h"

typedef enum {
    SM_NO_ITEMS,
    SM_ITEMS_COUNTED, /* ob_size is the number of items */
    SM_ITEMS_OF_INT,
    SM_ITEMS_OF_STR,
    SM_ITEMS_UNKNOWN, /* ob_size need not be their number; generators and frames lack it */
} sm_items;

/* Return the kind of items in the blocks of this type's objects. */
static inline sm_items sm_items_of(const PyTypeObject *type) {
    if (type == &PyUnicode_Type)
        return SM_ITEMS_OF_STR;
    if (type->tp_itemsize <= 0)
        return SM_NO_ITEMS;
    if ((type->tp_flags & Py_TPFLAGS_LONG_SUBCLASS) != 0)
        return SM_ITEMS_OF_INT;
    unsigned long counted = Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_BYTES_SUBCLASS | Py_TPFLAGS_TYPE_SUBCLASS;
    return (type->tp_flags & counted) != 0 ? SM_ITEMS_COUNTED : SM_ITEMS_UNKNOWN;
}

/* Return the bytes of a completely initialized object's items. */
static inline uint64_t sm_item_bytes(PyObject *object, sm_items kind, uint64_t item_size) {
    if (kind == SM_ITEMS_OF_STR) {
        uint64_t length = (uint64_t)PyUnicode_GET_LENGTH(object);
        if (PyUnicode_IS_COMPACT_ASCII(object))
            return length;
        return sizeof(PyCompactUnicodeObject) - sizeof(PyASCIIObject) + (length + 1) * PyUnicode_KIND(object) - 1;
    }
#if PY_VERSION_HEX >= 0x030C0000
    if (kind == SM_ITEMS_OF_INT)
        return (uint64_t)(((PyLongObject *)object)->long_value.lv_tag >> 3) * item_size;
#endif
    Py_ssize_t count = ((PyVarObject *)object)->ob_size;
    return (uint64_t)(count < 0 ? -count : count) * item_size;
}

#if PY_VERSION_HEX >= 0x030D0000
/* The head of a class's shared keys, the same from 3.13 to 3.15. */
typedef struct {
    Py_ssize_t refcount;
    uint8_t log2_size, log2_index_bytes, kind;
    uint32_t version;
    Py_ssize_t usable, entries;
} sm_shared_keys;
#endif

/* Return the bytes of an object of this type without items, with its header and inline values, which sys.getsizeof()
 * omits. All but a class's first objects have room for one attribute more than are known. */
static inline uint64_t sm_type_bytes(PyTypeObject *type) {
    if (type == &PyUnicode_Type)
        return sizeof(PyASCIIObject) + 1;
    uint64_t size = type->tp_basicsize > 0 ? (uint64_t)type->tp_basicsize : 0;
    size += PyType_IS_GC(type) && !SM_FREE_THREADED ? 2 * sizeof(void *) : 0;
#if PY_VERSION_HEX >= 0x030C0000
    if ((type->tp_flags & (Py_TPFLAGS_MANAGED_DICT | Py_TPFLAGS_MANAGED_WEAKREF)) != 0)
        size += 2 * sizeof(void *);
#endif
#if PY_VERSION_HEX >= 0x030D0000
    const sm_shared_keys *keys = (const void *)((PyHeapTypeObject *)type)->ht_cached_keys;
    if ((type->tp_flags & Py_TPFLAGS_INLINE_VALUES) != 0 && keys != NULL) {
        uint64_t room = (uint64_t)(keys->entries + (keys->usable > 1 ? 1 : keys->usable));
        size += (room + 7) / 8 * 8 + (room + 1) * sizeof(PyObject *);
    }
#endif
    return size;
}
