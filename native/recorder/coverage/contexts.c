/* What was hit in each context, until it is in the file. All with the engine's lock. */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/map.h"
#include "recorder/coverage/store.h"

/* The numbers of all contexts by the hashes of their names, so that one that returns (a test's setup, body and
 * teardown) is the same. */
typedef struct {
    uint64_t hash;
    uint32_t number;
} known_context;

static sm_map known; /* of known_context; guarded by the engine's lock */

static void forget_names(void) {
    for (uint32_t i = 0; i < sm_cover_store.names_count; i++)
        sm_free(sm_cover_store.names[i]);
    sm_cover_store.names_count = 0;
}

void sm_cover_forget_contexts(void) {
    sm_cover_store_state *store = &sm_cover_store;
    sm_map_free(&known);
    forget_names();
    SM_CLEAR(store->names);
    SM_CLEAR(store->context_hits);
    store->names_size = store->context_hits_count = store->context_hits_size = 0;
    store->contexts = store->contexts_saved = store->context = 0;
    for (int kind = 0; kind < SM_COVER_KINDS; kind++) {
        sm_cover_hits *hits = &store->hits[kind];
        sm_free(hits->bits);
        sm_free(hits->blocks);
        memset(hits, 0, sizeof *hits);
    }
}

static bool number_context(void) {
    sm_cover_store_state *store = &sm_cover_store;
    uint64_t hash = sm_hash_text(SM_HASH_START, store->context_name) | 1;
    known_context *context = sm_map_find(&known, hash, sizeof *context);
    if (context != NULL) {
        store->context = context->number;
        return true;
    }
    if (!sm_grow(&store->names, store->names_count, &store->names_size, sizeof *store->names, 16))
        return false;
    char *name = sm_copy_chars(store->context_name);
    if (name == NULL)
        return false;
    store->names[store->names_count++] = name;
    store->context = ++store->contexts;
    context = sm_map_make(&known, hash, sizeof *context, 64);
    if (context != NULL)
        context->number = store->context;
    return true;
}

static bool grow_hits(sm_cover_hits *hits, uint32_t block) {
    uint32_t size = block + block / 2 + 64;
    if (!sm_resize(&hits->bits, size * sizeof *hits->bits) || !sm_resize(&hits->blocks, size * sizeof *hits->blocks))
        return false;
    memset(hits->bits + hits->size, 0, (size - hits->size) * sizeof *hits->bits);
    hits->size = size;
    return true;
}

static void note(int kind, uint32_t row) {
    sm_cover_hits *hits = &sm_cover_store.hits[kind];
    uint32_t block = (row - 1) / 64;
    if (sm_cover_store.context_name == NULL)
        return;
    if ((sm_cover_store.context == 0 && !number_context()) || (block >= hits->size && !grow_hits(hits, block))) {
        sm_beside.lost_memory++;
        return;
    }
    if (hits->bits[block] == 0)
        hits->blocks[hits->count++] = block;
    hits->bits[block] |= (uint64_t)1 << (row - 1) % 64;
}

void sm_cover_hit(sm_cover_function *of, sm_cover_place *place, int kind) {
    if (place->row == 0) {
        place->row = ++sm_cover_store.rows[kind];
        of->news = true;
    }
    __atomic_store_n(&place->stamp, sm_cover.stamp, __ATOMIC_RELAXED);
    note(kind, place->row);
    sm_engine_stir(&sm_beside);
}

void sm_cover_end_context(void) {
    sm_cover_store_state *store = &sm_cover_store;
    for (uint32_t kind = 0; kind < SM_COVER_KINDS; kind++) {
        sm_cover_hits *hits = &store->hits[kind];
        for (uint32_t i = 0; i < hits->count; i++) {
            uint32_t block = hits->blocks[i];
            if (sm_grow(&store->context_hits, store->context_hits_count, &store->context_hits_size,
                        sizeof *store->context_hits, 64))
                store->context_hits[store->context_hits_count++] =
                    (sm_cover_context_hit){store->context - 1, kind, block, hits->bits[block]};
            else
                SM_COUNT(sm_beside.lost_memory);
            hits->bits[block] = 0;
        }
        hits->count = 0;
    }
}

void sm_cover_put_context(sm_output *output, uint32_t id, const char *name, size_t size) {
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_CONTEXTS_ID] = id;
    row[SM_CONTEXTS_NAME] = (int64_t)sm_writer_string(output->writer, name, size);
    if (row[SM_CONTEXTS_NAME] != 0)
        sm_writer_row(output->writer, SM_CONTEXTS, row, NULL);
}

void sm_cover_put_context_hit(sm_output *output, const sm_cover_context_hit *hit) {
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_CONTEXT_HITS_ID] = output->context_hits++;
    row[SM_CONTEXT_HITS_CONTEXT] = hit->context;
    row[SM_CONTEXT_HITS_KIND] = hit->kind;
    row[SM_CONTEXT_HITS_BASE] = (int64_t)hit->block * 64;
    memcpy(&row[SM_CONTEXT_HITS_BITS], &hit->bits, sizeof hit->bits);
    sm_writer_row(output->writer, SM_CONTEXT_HITS, row, NULL);
}

/* Write the contexts that are not in the file. An image of a recording into a file lacks those that are, and so it has
 * none. A file that is to replace another gets them by sm_cover_carry_contexts(), and the others with the next save. */
void sm_cover_save_contexts(sm_output *output) {
    sm_cover_store_state *store = &sm_cover_store;
    bool lacks = output->whole && store->contexts_saved > 0, fresh = !output->whole && output != &sm_beside.output;
    sm_cover_end_context();
    sm_output_loss(output, "contexts-dropped", lacks ? store->contexts : 0, -1,
                   "contexts that are in the first file only; this is a copy made without it");
    if (lacks || fresh)
        return;
    for (uint32_t i = 0; i < store->names_count; i++)
        sm_cover_put_context(output, store->contexts_saved + i, store->names[i], strlen(store->names[i]));
    for (uint32_t i = 0; i < store->context_hits_count; i++)
        sm_cover_put_context_hit(output, &store->context_hits[i]);
    if (output->whole)
        return;
    forget_names();
    store->contexts_saved = store->contexts;
    store->context_hits_count = 0;
}
