/* METEOR 1.5 alignment: what meteor.c, meteor_phrases.c and meteor_search.c share.
   Twin: vericap/text/meteor_features.py and meteor_align.py, which say why each step is as it is. */

#ifndef VERICAP_METEOR_H
#define VERICAP_METEOR_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES = 4, COLUMNS = 21, LONGEST = 7, BEAM = 40, PAIRS = 1 << 16 };

typedef struct { void *data; size_t size, room, item; } Pool;

static inline int pool_reserve(Pool *pool, size_t more)
{
    if (pool->size + more <= pool->room)
        return 0;
    size_t room = pool->room * 2 + more + 64;
    void *data = realloc(pool->data, room * pool->item);
    if (!data)
        return -1;
    pool->data = data;
    pool->room = room;
    return 0;
}

typedef struct { int32_t start, length, other, other_length, stage; } Match; /* start: reference; other: candidate */
typedef struct { const int32_t *id; int64_t length; const int32_t *span, *phrase; int64_t phrases; } Text;
typedef struct { int32_t match, before; } Step;
typedef struct { int64_t matched, chunks, distance, next, last_end; int32_t steps; int32_t slot; } Path;

typedef struct {
    const int64_t *offset, *phrase_offset, *synset_offset, *list_offset;
    const int32_t *id, *span, *phrase, *key, *stem, *number, *list;
    const uint32_t *synset;
    const uint64_t *signature;
    const uint8_t *function;
    int matchers;
    /* working memory */
    Pool matches, firsts, steps, cover1, cover2, fixed, found, used, inverse;
    int32_t *head, *chain, *inverse_head; /* by phrase number: first place in the candidate */
    int64_t chain_room;
    uint64_t *pairs; /* recent answers: do two words share a synset? */
} Work;

/* meteor_phrases.c */
PyObject *meteor_children(PyObject *self, PyObject *args);
PyObject *meteor_find_phrases(PyObject *self, PyObject *args);
PyObject *meteor_read_lists(PyObject *self, PyObject *args);

/* meteor_search.c */
Text meteor_text(const Work *work, int64_t text);
int meteor_index_candidate(Work *work, Text test);
void meteor_forget_candidate(Work *work, Text test);
int meteor_find_matches(Work *work, Text test, Text reference);
int meteor_resolve(Work *work, Text test, Text reference, Path *best);

#endif
