/* METEOR 1.5 alignment: phrases of the paraphrase table, matches, beam search, statistics of the best reference.
   Twin: vericap/text/meteor_align.py, which says why each step is as it is. Buffers in, buffers out. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES = 4, COLUMNS = 21, LONGEST = 7, BEAM = 40 };

/* ---- buffers ---------------------------------------------------------------------------------------- */

typedef struct { void *data; size_t size, room, item; } Pool;

static int pool_reserve(Pool *pool, size_t more)
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

static const char *pool_bytes(const Pool *pool) /* never NULL, which Python would turn into None */
{
    return pool->data ? pool->data : "";
}

/* ---- phrases of a text, lists of a phrase ------------------------------------------------------------- */

typedef struct {
    const uint16_t *labels;
    const uint32_t *children;
    int64_t inner, words;
} Trie;

static int64_t trie_child(const Trie *trie, int64_t node, int32_t word)
{
    if (node >= trie->inner)
        return -1;
    uint32_t low = trie->children[node], high = trie->children[node + 1], end = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trie->labels[middle] < word)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && trie->labels[low] == word ? trie->words + (int64_t)low : -1;
}

/* find_phrases(offsets i64, numbers i32, labels u16, children u32, words) -> (counts i64, spans i32, nodes u32) */
static PyObject *find_phrases(PyObject *self, PyObject *args)
{
    Py_buffer offsets, numbers, labels, children;
    long long words;
    if (!PyArg_ParseTuple(args, "y*y*y*y*L", &offsets, &numbers, &labels, &children, &words))
        return NULL;
    Py_ssize_t texts = offsets.len / 8 - 1;
    const int64_t *start = offsets.buf;
    const int32_t *number = numbers.buf;
    Trie trie = {labels.buf, children.buf, children.len / 4 - 1, words};
    Pool spans = {NULL, 0, 0, 4}, nodes = {NULL, 0, 0, 4};
    PyObject *counts = PyBytes_FromStringAndSize(NULL, (texts + 1) * 8), *result = NULL;
    int failed = !counts;
    if (!failed) {
        int64_t *count = (int64_t *)PyBytes_AS_STRING(counts);
        count[0] = 0;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t text = 0; text < texts && !failed; text++) {
            const int32_t *word = number + start[text];
            int64_t length = start[text + 1] - start[text];
            for (int64_t i = 0; i < length && !failed; i++) {
                int64_t node = word[i];
                if (pool_reserve(&spans, LONGEST) || pool_reserve(&nodes, LONGEST)) {
                    failed = 1;
                    break;
                }
                for (int64_t n = 1; node >= 0; n++) {
                    ((int32_t *)spans.data)[spans.size++] = (int32_t)(i * 8 + n);
                    ((uint32_t *)nodes.data)[nodes.size++] = (uint32_t)node;
                    if (n == LONGEST || i + n >= length || word[i + n] < 0)
                        break;
                    node = trie_child(&trie, node, word[i + n]);
                }
            }
            count[text + 1] = (int64_t)spans.size;
        }
        Py_END_ALLOW_THREADS
    }
    if (failed)
        PyErr_NoMemory();
    else
        result = Py_BuildValue("Oy#y#", counts, pool_bytes(&spans), (Py_ssize_t)(spans.size * 4), pool_bytes(&nodes),
                               (Py_ssize_t)(nodes.size * 4));
    Py_XDECREF(counts);
    free(spans.data);
    free(nodes.data);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&labels);
    PyBuffer_Release(&children);
    return result;
}

/* read_lists(nodes u32, sources u32, list_offsets u32, lists u8, local i32) -> (offsets i64, targets i32)
   local: for every node its number in this batch, -1 where the batch does not have it */
static PyObject *read_lists(PyObject *self, PyObject *args)
{
    Py_buffer wanted, sources, places, lists, local;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*", &wanted, &sources, &places, &lists, &local))
        return NULL;
    Py_ssize_t count = wanted.len / 4, row = 0, all = sources.len / 4;
    const uint32_t *node = wanted.buf, *source = sources.buf, *place = places.buf;
    const int32_t *number = local.buf;
    const uint8_t *bytes = lists.buf;
    Pool targets = {NULL, 0, 0, 4};
    PyObject *offsets = PyBytes_FromStringAndSize(NULL, (count + 1) * 8), *result = NULL;
    int failed = !offsets;
    if (!failed) {
        int64_t *offset = (int64_t *)PyBytes_AS_STRING(offsets);
        offset[0] = 0;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; i < count; i++) {
            while (row < all && source[row] < node[i])
                row++;
            if (row < all && source[row] == node[i]) {
                const uint8_t *next = bytes + place[row];
                uint64_t held = 0;
                int bits = 0;
                int64_t last = -1;
                for (;;) {
                    while (bits <= 56 - 8 && next < bytes + place[row + 1]) {
                        held = (held << 8) | *next++;
                        bits += 8;
                    }
                    bits -= 5;
                    int size = (int)((held >> bits) & 31);
                    if (size == 31)
                        break;
                    bits -= size;
                    last += (int64_t)((1u << size) | ((held >> bits) & ((1u << size) - 1)));
                    if (number[last] >= 0) {
                        if (pool_reserve(&targets, 1)) {
                            failed = 1;
                            break;
                        }
                        ((int32_t *)targets.data)[targets.size++] = number[last];
                    }
                }
            }
            if (failed)
                break;
            offset[i + 1] = (int64_t)targets.size;
        }
        Py_END_ALLOW_THREADS
    }
    if (failed)
        PyErr_NoMemory();
    else
        result = Py_BuildValue("Oy#", offsets, pool_bytes(&targets), (Py_ssize_t)(targets.size * 4));
    Py_XDECREF(offsets);
    free(targets.data);
    PyBuffer_Release(&wanted);
    PyBuffer_Release(&sources);
    PyBuffer_Release(&places);
    PyBuffer_Release(&lists);
    PyBuffer_Release(&local);
    return result;
}

/* ---- alignment ---------------------------------------------------------------------------------------- */

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
} Work;

static Text text_of(const Work *work, int64_t text)
{
    int64_t from = work->offset[text], first = work->phrase_offset[text];
    Text found = {work->id + from, work->offset[text + 1] - from, work->span + first, work->phrase + first,
                  work->phrase_offset[text + 1] - first};
    return found;
}

static int share_synset(const Work *work, int32_t a, int32_t b)
{
    if (!(work->signature[a] & work->signature[b]))
        return 0;
    int64_t i = work->synset_offset[a], j = work->synset_offset[b];
    int64_t end_i = work->synset_offset[a + 1], end_j = work->synset_offset[b + 1];
    while (i < end_i && j < end_j) {
        if (work->synset[i] == work->synset[j])
            return 1;
        if (work->synset[i] < work->synset[j])
            i++;
        else
            j++;
    }
    return 0;
}

static int add_match(Work *work, int64_t i, int64_t length, int64_t j, int64_t other_length, int stage)
{
    if (pool_reserve(&work->matches, 1))
        return -1;
    Match *match = (Match *)work->matches.data + work->matches.size++;
    match->start = (int32_t)i;
    match->length = (int32_t)length;
    match->other = (int32_t)j;
    match->other_length = (int32_t)other_length;
    match->stage = stage;
    int32_t *cover1 = work->cover1.data, *cover2 = work->cover2.data;
    for (int64_t k = 0; k < length; k++)
        cover2[i + k]++;
    for (int64_t k = 0; k < other_length; k++)
        cover1[j + k]++;
    return 0;
}

/* Candidate's phrases by number (chain of places), and which of them have a phrase as paraphrase. */
static int index_candidate(Work *work, Text test)
{
    if (test.phrases > work->chain_room) {
        int32_t *chain = realloc(work->chain, (size_t)test.phrases * 4);
        if (!chain)
            return -1;
        work->chain = chain;
        work->chain_room = test.phrases;
    }
    for (int64_t place = test.phrases - 1; place >= 0; place--) {
        int32_t phrase = test.phrase[place];
        work->chain[place] = work->head[phrase];
        work->head[phrase] = (int32_t)place;
    }
    work->inverse.size = 0;
    for (int64_t place = 0; place < test.phrases; place++) {
        int32_t phrase = test.phrase[place];
        int64_t from = work->list_offset[phrase], to = work->list_offset[phrase + 1];
        if (pool_reserve(&work->inverse, (size_t)(to - from)))
            return -1;
        Step *inverse = work->inverse.data;
        for (int64_t k = from; k < to; k++) {
            int32_t target = work->list[k];
            inverse[work->inverse.size].match = (int32_t)place;
            inverse[work->inverse.size].before = work->inverse_head[target];
            work->inverse_head[target] = (int32_t)work->inverse.size++;
        }
    }
    return 0;
}

static void forget_candidate(Work *work, Text test)
{
    for (int64_t place = 0; place < test.phrases; place++) {
        int32_t phrase = test.phrase[place];
        work->head[phrase] = -1;
        for (int64_t k = work->list_offset[phrase]; k < work->list_offset[phrase + 1]; k++)
            work->inverse_head[work->list[k]] = -1;
    }
}

/* Does place a of the candidate come before place b in the order of the table? Words first, then position. */
static int phrase_before(const Work *work, Text test, int32_t a, int32_t b)
{
    int32_t start_a = test.span[a] >> 3, start_b = test.span[b] >> 3;
    int32_t length_a = test.span[a] & 7, length_b = test.span[b] & 7;
    for (int32_t k = 0; k < length_a && k < length_b; k++) {
        int32_t x = work->number[test.id[start_a + k]], y = work->number[test.id[start_b + k]];
        if (x != y)
            return x < y;
    }
    if (length_a != length_b)
        return length_a < length_b;
    return start_a < start_b;
}

static int paraphrases_of_reference(Work *work, Text test, Text reference, int64_t place)
{
    int32_t phrase = reference.phrase[place];
    int64_t from = work->list_offset[phrase], to = work->list_offset[phrase + 1];
    work->found.size = 0;
    for (int64_t k = from; k < to; k++)
        for (int32_t at = work->head[work->list[k]]; at >= 0; at = work->chain[at]) {
            if (pool_reserve(&work->found, 1))
                return -1;
            int32_t *found = work->found.data;
            size_t put = work->found.size++;
            while (put && phrase_before(work, test, at, found[put - 1])) {
                found[put] = found[put - 1];
                put--;
            }
            found[put] = at;
        }
    int32_t *found = work->found.data;
    for (size_t k = 0; k < work->found.size; k++)
        if (add_match(work, reference.span[place] >> 3, reference.span[place] & 7, test.span[found[k]] >> 3,
                      test.span[found[k]] & 7, 3))
            return -1;
    return 0;
}

/* Phrases of the candidate that have one of the reference's phrases from `first` to `last` (one start) as paraphrase. */
static int paraphrases_of_candidate(Work *work, Text test, Text reference, int64_t first, int64_t last)
{
    work->found.size = 0;
    for (int64_t place = first; place < last; place++) {
        const Step *inverse = work->inverse.data;
        for (int32_t at = work->inverse_head[reference.phrase[place]]; at >= 0; at = inverse[at].before) {
            if (pool_reserve(&work->found, 1))
                return -1;
            /* candidate's start and length, then the reference's length: the order of METEOR's loops */
            int64_t *found = work->found.data;
            int64_t order = (int64_t)test.span[inverse[at].match] * 8 + (reference.span[place] & 7);
            size_t put = work->found.size++;
            while (put && order < found[put - 1]) {
                found[put] = found[put - 1];
                put--;
            }
            found[put] = order;
        }
    }
    int64_t *found = work->found.data;
    for (size_t k = 0; k < work->found.size; k++) {
        int64_t span = found[k] >> 3;
        if (add_match(work, reference.span[first] >> 3, found[k] & 7, span >> 3, span & 7, 3))
            return -1;
    }
    return 0;
}

static int same_words(const Work *work, Text test, Text reference)
{
    if (test.length != reference.length)
        return 0;
    for (int64_t i = 0; i < test.length; i++)
        if (work->key[test.id[i]] != work->key[reference.id[i]])
            return 0;
    return 1;
}

/* All matches, in METEOR's order, those that begin at reference word i between firsts[i] and firsts[i + 1]. */
static int find_matches(Work *work, Text test, Text reference)
{
    int matchers = same_words(work, test, reference) ? work->matchers & 1 : work->matchers;
    int64_t place = 0;
    work->matches.size = work->cover1.size = work->cover2.size = work->firsts.size = 0;
    if (pool_reserve(&work->cover1, (size_t)test.length + 1) || pool_reserve(&work->cover2, (size_t)reference.length + 1)
        || pool_reserve(&work->firsts, (size_t)reference.length + 1))
        return -1;
    memset(work->cover1.data, 0, (size_t)test.length * 4);
    memset(work->cover2.data, 0, (size_t)reference.length * 4);
    int32_t *firsts = work->firsts.data;
    for (int64_t i = 0; i < reference.length; i++) {
        int32_t b = reference.id[i], key = work->key[b], stem = work->stem[b];
        firsts[i] = (int32_t)work->matches.size;
        if (matchers & 1)
            for (int64_t j = 0; j < test.length; j++)
                if (work->key[test.id[j]] == key && add_match(work, i, 1, j, 1, 0))
                    return -1;
        if (matchers & 2)
            for (int64_t j = 0; j < test.length; j++)
                if (work->stem[test.id[j]] == stem && work->key[test.id[j]] != key && add_match(work, i, 1, j, 1, 1))
                    return -1;
        if (matchers & 4)
            for (int64_t j = 0; j < test.length; j++)
                if (work->key[test.id[j]] != key && share_synset(work, test.id[j], b) && add_match(work, i, 1, j, 1, 2))
                    return -1;
        if (matchers & 8) {
            int64_t first = place;
            while (place < reference.phrases && reference.span[place] >> 3 == i)
                place++;
            for (int64_t k = first; k < place; k++)
                if (paraphrases_of_reference(work, test, reference, k))
                    return -1;
            if (place > first && paraphrases_of_candidate(work, test, reference, first, place))
                return -1;
        }
    }
    firsts[reference.length] = (int32_t)work->matches.size;
    return 0;
}

static int path_before(const Path *a, const Path *b)
{
    if (a->matched != b->matched)
        return a->matched > b->matched;
    if (a->chunks != b->chunks)
        return a->chunks < b->chunks;
    return a->distance < b->distance;
}

static int used_any(const uint64_t *bits, int64_t from, int64_t count)
{
    for (int64_t k = from; k < from + count; k++)
        if (bits[k >> 6] >> (k & 63) & 1)
            return 1;
    return 0;
}

static void use(uint64_t *bits, int64_t from, int64_t count)
{
    for (int64_t k = from; k < from + count; k++)
        bits[k >> 6] |= (uint64_t)1 << (k & 63);
}

static int weight(const Match *match) /* whole words count in full, others by half, cut off */
{
    return match->stage == 0 ? match->length + match->other_length : match->length / 2 + match->other_length / 2;
}

static int extend(Work *work, Path *path, const Match *match, int32_t index)
{
    if (pool_reserve(&work->steps, 1))
        return -1;
    Step *step = (Step *)work->steps.data + work->steps.size;
    step->match = index;
    step->before = path->steps;
    path->steps = (int32_t)work->steps.size++;
    path->matched += weight(match);
    if (path->last_end != -1 && match->other != path->last_end)
        path->chunks++;
    path->next = match->start + match->length;
    path->last_end = match->other + match->other_length;
    return 0;
}

typedef struct { Path path[BEAM]; int count; int free_slots[BEAM + 1], free_count; } Beam;

/* Where a path would go in a stable sort, or -1 where the beam has no room for it. */
static int beam_place(const Beam *beam, const Path *path)
{
    int put = beam->count;
    if (put == BEAM && !path_before(path, &beam->path[put - 1]))
        return -1;
    while (put && path_before(path, &beam->path[put - 1]))
        put--;
    return put;
}

static Path *beam_insert(Beam *beam, int put, const Path *path)
{
    if (beam->count == BEAM)
        beam->free_slots[beam->free_count++] = beam->path[--beam->count].slot;
    memmove(&beam->path[put + 1], &beam->path[put], (size_t)(beam->count - put) * sizeof(Path));
    beam->count++;
    beam->path[put] = *path;
    beam->path[put].slot = beam->free_slots[--beam->free_count];
    return &beam->path[put];
}

static void beam_clear(Beam *beam, int base)
{
    beam->count = 0;
    for (beam->free_count = 0; beam->free_count <= BEAM; beam->free_count++)
        beam->free_slots[beam->free_count] = base + beam->free_count;
}

/* Beam search; the best path's steps are left in work->steps. */
static int resolve(Work *work, Text test, Text reference, Path *best)
{
    int64_t words1 = test.length / 64 + 1, words2 = reference.length / 64 + 1, size = words1 + words2;
    const Match *matches = work->matches.data;
    const int32_t *firsts = work->firsts.data, *cover1 = work->cover1.data, *cover2 = work->cover2.data;
    Beam beams[2], *now = &beams[0], *later = &beams[1];
    work->used.size = work->fixed.size = work->steps.size = 0;
    if (pool_reserve(&work->used, (size_t)(size * 2 * (BEAM + 1)))
        || pool_reserve(&work->fixed, (size_t)reference.length + 1))
        return -1;
    uint64_t *used = work->used.data;
    int32_t *fixed = work->fixed.data;
    beam_clear(now, 0);
    Path path = {0, 0, 0, 0, -1, -1, 0};
    uint64_t *bits = used + size * beam_insert(now, 0, &path)->slot;
    memset(bits, 0, (size_t)size * 8);
    for (int64_t i = 0; i < reference.length; i++) {
        fixed[i] = -1;
        if (firsts[i + 1] - firsts[i] != 1)
            continue;
        const Match *match = matches + firsts[i];
        int certain = 1;
        for (int32_t k = 0; k < match->length; k++)
            certain &= cover2[i + k] == 1;
        for (int32_t k = 0; k < match->other_length; k++)
            certain &= cover1[match->other + k] == 1;
        if (certain) {
            fixed[i] = firsts[i];
            use(bits, match->other, match->other_length);
            use(bits + words1, i, match->length);
        }
    }
    for (int64_t i = 0; i < reference.length; i++) {
        beam_clear(later, later == &beams[1] ? BEAM + 1 : 0);
        for (int p = 0; p < now->count; p++) {
            path = now->path[p];
            bits = used + size * path.slot;
            int put;
            if (used_any(bits + words1, i, 1)) {
                if (i >= path.next) {
                    int32_t index = fixed[path.next];
                    if (index < 0)
                        continue;
                    const Match *match = matches + index;
                    if (extend(work, &path, match, index))
                        return -1;
                    path.distance += llabs((int64_t)match->start - match->other);
                }
            } else {
                int64_t distance = path.distance;
                for (int32_t index = firsts[i]; index < firsts[i + 1]; index++) {
                    const Match *match = matches + index;
                    if (used_any(bits + words1, match->start, match->length)
                        || used_any(bits, match->other, match->other_length))
                        continue;
                    Path child = path;
                    child.distance = distance;
                    /* METEOR books the distance on the path it came from: later siblings bear it */
                    distance += llabs((int64_t)match->start - match->other);
                    size_t kept = work->steps.size;
                    if (extend(work, &child, match, index))
                        return -1;
                    put = beam_place(later, &child);
                    if (put < 0) {
                        work->steps.size = kept;
                        continue;
                    }
                    uint64_t *copy = used + size * beam_insert(later, put, &child)->slot;
                    memcpy(copy, bits, (size_t)size * 8);
                    use(copy, match->other, match->other_length);
                    use(copy + words1, match->start, match->length);
                }
                path.distance = distance;
                if (path.last_end != -1) {
                    path.chunks++;
                    path.last_end = -1;
                }
                path.next++;
            }
            put = beam_place(later, &path);
            if (put >= 0)
                memcpy(used + size * beam_insert(later, put, &path)->slot, bits, (size_t)size * 8);
        }
        if (!later->count) {
            uint64_t *copy = used + size * beam_insert(later, 0, &now->path[0])->slot;
            memcpy(copy, used + size * now->path[0].slot, (size_t)size * 8);
        }
        Beam *swap = now;
        now = later;
        later = swap;
    }
    for (int p = 0; p < now->count; p++) {
        path = now->path[p];
        if (path.last_end != -1)
            path.chunks++;
        if (p == 0 || path_before(&path, best))
            *best = path;
    }
    return 0;
}

/* ---- statistics --------------------------------------------------------------------------------------- */

static const double ALPHA = 0.85, BETA = 0.20, GAMMA = 0.60, DELTA = 0.75;
static const double WEIGHT[STAGES] = {1.0, 0.6, 0.8, 0.6};

static double score(const double *row)
{
    double test = 0.0, reference = 0.0, matched = 0.0;
    double test_length = DELTA * (row[0] - row[2]) + (1.0 - DELTA) * row[2];
    double reference_length = DELTA * (row[1] - row[3]) + (1.0 - DELTA) * row[3];
    for (int s = 0; s < STAGES; s++)
        test += row[4 + 4 * s] * WEIGHT[s] * DELTA, reference += row[5 + 4 * s] * WEIGHT[s] * DELTA;
    for (int s = 0; s < STAGES; s++)
        test += row[6 + 4 * s] * WEIGHT[s] * (1.0 - DELTA), reference += row[7 + 4 * s] * WEIGHT[s] * (1.0 - DELTA);
    for (int k = 4; k < 20; k++)
        matched += row[k];
    double precision = test / test_length, recall = reference / reference_length;
    double mean = 1.0 / ((1.0 - ALPHA) / precision + ALPHA / recall);
    double found = mean * (1.0 - GAMMA * pow(row[20] / (matched / 2.0), BETA));
    return isnan(found) ? 0.0 : found > 0.0 ? found : 0.0;
}

static void statistics(const Work *work, Text test, Text reference, const Path *path, double *row)
{
    memset(row, 0, COLUMNS * sizeof(double));
    row[0] = (double)test.length;
    row[1] = (double)reference.length;
    for (int64_t i = 0; i < test.length; i++)
        row[2] += work->function[test.id[i]];
    for (int64_t i = 0; i < reference.length; i++)
        row[3] += work->function[reference.id[i]];
    const Step *steps = work->steps.data;
    const Match *matches = work->matches.data;
    double matched1 = 0.0, matched2 = 0.0;
    for (int32_t at = path->steps; at >= 0; at = steps[at].before) {
        const Match *match = matches + steps[at].match;
        double *stage = row + 4 + 4 * match->stage;
        for (int32_t k = 0; k < match->other_length; k++)
            stage[work->function[test.id[match->other + k]] ? 2 : 0]++;
        for (int32_t k = 0; k < match->length; k++)
            stage[work->function[reference.id[match->start + k]] ? 3 : 1]++;
        matched1 += match->other_length;
        matched2 += match->length;
    }
    row[20] = (double)path->chunks;
    if (matched1 == row[0] && matched2 == row[1] && path->chunks == 1)
        row[20] = 0.0;
}

static int best_reference(Work *work, int64_t candidate, const int64_t *references, int64_t count, double *row,
                          int32_t *chosen)
{
    Text test = text_of(work, candidate);
    double best = -1.0, trial[COLUMNS];
    int failed = work->matchers & 8 ? index_candidate(work, test) : 0;
    *chosen = -1;
    for (int64_t r = 0; r < count && !failed; r++) {
        Text reference = text_of(work, references[r]);
        Path path = {0, 0, 0, 0, -1, -1, 0};
        failed = find_matches(work, test, reference) || resolve(work, test, reference, &path);
        if (failed)
            break;
        statistics(work, test, reference, &path, trial);
        double value = score(trial);
        if (value > best) {
            best = value;
            *chosen = (int32_t)r;
            memcpy(row, trial, sizeof trial);
        }
    }
    if (work->matchers & 8)
        forget_candidate(work, test);
    return failed ? -1 : 0;
}

/* align(texts, words, phrases, candidates, reference_offsets, reference_index, matchers) -> (rows f64, chosen i32)
   texts: (offsets i64, ids i32); words: (key i32, stem i32, number i32, function u8, signature u64,
   synset_offsets i64, synsets u32); phrases: (offsets i64, spans i32, numbers i32, list_offsets i64, lists i32) */
static PyObject *align(PyObject *self, PyObject *args)
{
    Py_buffer b[17];
    int matchers;
    if (!PyArg_ParseTuple(args, "(y*y*)(y*y*y*y*y*y*y*)(y*y*y*y*y*)y*y*y*i", b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6,
                          b + 7, b + 8, b + 9, b + 10, b + 11, b + 12, b + 13, b + 14, b + 15, b + 16, &matchers))
        return NULL;
    Work work;
    memset(&work, 0, sizeof work);
    work.offset = b[0].buf, work.id = b[1].buf;
    work.key = b[2].buf, work.stem = b[3].buf, work.number = b[4].buf, work.function = b[5].buf;
    work.signature = b[6].buf, work.synset_offset = b[7].buf, work.synset = b[8].buf;
    work.phrase_offset = b[9].buf, work.span = b[10].buf, work.phrase = b[11].buf;
    work.list_offset = b[12].buf, work.list = b[13].buf;
    work.matchers = matchers;
    work.matches.item = sizeof(Match), work.steps.item = work.inverse.item = sizeof(Step);
    work.firsts.item = work.cover1.item = work.cover2.item = work.fixed.item = 4;
    work.found.item = work.used.item = 8;
    size_t numbers = (size_t)(b[12].len / 8);
    work.head = malloc(numbers * 4 + 4), work.inverse_head = malloc(numbers * 4 + 4);
    Py_ssize_t rows = b[14].len / 8;
    PyObject *values = PyBytes_FromStringAndSize(NULL, rows * COLUMNS * (Py_ssize_t)sizeof(double));
    PyObject *chosen = PyBytes_FromStringAndSize(NULL, rows * 4), *result = NULL;
    int failed = !values || !chosen || !work.head || !work.inverse_head;
    if (!failed) {
        memset(work.head, 0xff, numbers * 4 + 4);
        memset(work.inverse_head, 0xff, numbers * 4 + 4);
        double *row = (double *)PyBytes_AS_STRING(values);
        int32_t *choice = (int32_t *)PyBytes_AS_STRING(chosen);
        memset(row, 0, (size_t)rows * COLUMNS * sizeof(double));
        const int64_t *candidate = b[14].buf, *offset = b[15].buf, *reference = b[16].buf;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; i < rows && !failed; i++)
            failed = best_reference(&work, candidate[i], reference + offset[i], offset[i + 1] - offset[i],
                                    row + i * COLUMNS, choice + i);
        Py_END_ALLOW_THREADS
    }
    if (failed)
        PyErr_NoMemory();
    else
        result = Py_BuildValue("OO", values, chosen);
    Py_XDECREF(values);
    Py_XDECREF(chosen);
    free(work.matches.data), free(work.firsts.data), free(work.steps.data), free(work.cover1.data);
    free(work.cover2.data), free(work.fixed.data), free(work.found.data), free(work.used.data);
    free(work.inverse.data), free(work.head), free(work.inverse_head), free(work.chain);
    for (int k = 0; k < 17; k++)
        PyBuffer_Release(b + k);
    return result;
}

static PyMethodDef METHODS[] = {
    {"find_phrases", find_phrases, METH_VARARGS, "Phrases of the paraphrase table in texts."},
    {"read_lists", read_lists, METH_VARARGS, "Paraphrases of phrases, those that a batch holds."},
    {"align", align, METH_VARARGS, "Statistics of the best reference of each candidate."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_meteor", NULL, -1, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__meteor(void) { return PyModule_Create(&MODULE); }
