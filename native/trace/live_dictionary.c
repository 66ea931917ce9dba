#include "trace/live_dictionary.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/tokens.h"

static bool grow(sm_places *p) {
    size_t room = p->room ? p->room * 2 : 64;
    sm_place *place = sm_aligned(sizeof *place, room * sizeof *place);
    if (place == NULL)
        return false;
    if (p->count)
        memcpy(place, p->place, p->count * sizeof *place);
    sm_free(p->place);
    p->place = place;
    p->room = room;
    return true;
}

/* Append a child to its siblings. A full array moves to the end of the pool, into twice the room. */
static bool add_kid(sm_places *p, sm_place *parent, uint32_t kid) {
    if ((parent->kids & (parent->kids - 1)) == 0) {
        size_t wanted = parent->kids ? parent->kids * 2 : 1;
        if (p->kids + wanted > p->kids_room) {
            size_t room = p->kids_room ? p->kids_room * 2 : 256;
            room = room < p->kids + wanted ? p->kids + wanted : room;
            uint32_t *kids = room > UINT32_MAX ? NULL : sm_realloc(p->kid, room * sizeof *kids);
            if (kids == NULL)
                return false;
            p->kid = kids;
            p->kids_room = room;
        }
        if (parent->kids)
            memcpy(p->kid + p->kids, p->kid + parent->kids_at, parent->kids * sizeof *p->kid);
        parent->kids_at = (uint32_t)p->kids;
        p->kids += wanted;
    }
    if (parent->kids < SM_PLACE_NEAR)
        parent->near[parent->kids] = kid;
    p->kid[parent->kids_at + parent->kids++] = kid;
    return true;
}

bool sm_places_add(sm_places *p, uint32_t parent, uint32_t function) {
    assert(p->count == 0 || parent < p->count);
    if (p->count == p->room && !grow(p))
        return false;
    if (p->count && p->place[parent].kids < SM_TOKEN_CHILDREN_CALLED &&
        !add_kid(p, &p->place[parent], (uint32_t)p->count)) {
        return false;
    }
    p->place[p->count] = (sm_place){.parent = p->count ? parent : 0, .function = function};
    p->count++;
    return true;
}

void sm_place_clear(sm_place *place) {
    place->calls = place->next = 0;
    place->time = place->beyond = place->began = 0;
}

void sm_places_free(sm_places *p) {
    sm_free(p->place);
    sm_free(p->kid);
    *p = (sm_places){0};
}
