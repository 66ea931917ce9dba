/* The tokens of a journal, bytes of which some have operands (docs/format.md).
 *
 * The tree of paths is the dictionary: a callee is named by its number among the children of the current node, which
 * takes a byte for nearly every call. */
#pragma once

enum {
    SM_TOKEN_RETURN = 0, /* the innermost open call ends */
    SM_TOKEN_YIELD = 1,  /* the innermost open call pauses */
    SM_TOKEN_UNWIND = 2, /* an exception leaves the innermost open call */
    SM_TOKEN_MARK = 3,   /* uvarint: units of the clock since the previous mark or the block's time */
    SM_TOKEN_CALL = 4,   /* uvarint: rank of the node */
    SM_TOKEN_RESUME = 5,
    SM_TOKEN_GOTO = 6,    /* uvarint: rank of the node that becomes current without events */
    SM_TOKEN_INSTANT = 7, /* uvarint kind, uvarint length, so many bytes */

    SM_TOKEN_CALL_CHILD = 8,     /* + number of the current node's child, below SM_TOKEN_CHILDREN_CALLED */
    SM_TOKEN_END = 128,          /* the stream ended in order; open calls end here */
    SM_TOKEN_RESERVED = 129,     /* to 135: a reader stops the block at one */
    SM_TOKEN_RESUME_CHILD = 136, /* + number of the child, below SM_TOKEN_CHILDREN_RESUMED */

    SM_TOKEN_CHILDREN_CALLED = SM_TOKEN_END - SM_TOKEN_CALL_CHILD,
    SM_TOKEN_CHILDREN_RESUMED = 256 - SM_TOKEN_RESUME_CHILD,
};

/* Kinds of instants. Their bytes: uvarint number of the span or collection (not in the first two), uvarint length of
 * the name, the name in UTF-8, a JSON object or nothing. */
enum {
    SM_INSTANT_MARK = 1,
    SM_INSTANT_COUNTER = 2,
    SM_INSTANT_SPAN_BEGINS = 3,
    SM_INSTANT_SPAN_ENDS = 4,
    SM_INSTANT_PAUSE_BEGINS = 5, /* the cycle collector begins a collection */
    SM_INSTANT_PAUSE_ENDS = 6,
};

/* Kinds of the journal's own. LEFT_OUT: uvarint calls, resumes and exceptions below the current node without tokens, as
 * they were too short or too deep. CLOCK: the clock was read without an event. */
enum { SM_INSTANT_LEFT_OUT = 32, SM_INSTANT_CLOCK = 33 };

enum {
    SM_PIECE_PLAIN = 0,
    SM_PIECE_LZ4 = 1,
    SM_PIECE_APART = 2,     /* marks split off, the rest as LZ4 (compression.c) */
    SM_BLOCK_AFTER_GAP = 1, /* flag of a block: events before it are missing */
    SM_BLOCK_MOST = 65536,  /* most bytes of an unpacked block, and so of a piece */
};
