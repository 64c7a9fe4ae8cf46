/* METEOR's paraphrase table: the phrases of it that stand in texts, and their lists. Buffers in, buffers out. */

#include "meteor.h"

static const char *pool_bytes(const Pool *pool) /* never NULL, which Python would turn into None */
{
    return pool->data ? pool->data : "";
}

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

/* Captions say the same over and over, so recent steps in the tree are kept: (node, word) -> child. */
enum { STEPS = 1 << 15 };
typedef struct { int64_t node, child; int32_t word; } Kept;

static int64_t kept_child(const Trie *trie, Kept *kept, int64_t node, int32_t word)
{
    uint64_t hash = ((uint64_t)node << 20 ^ (uint64_t)(uint32_t)word) * 0x9E3779B97F4A7C15ull;
    Kept *slot = &kept[hash >> 49 & (STEPS - 1)];
    if (slot->node != node + 1 || slot->word != word) /* nodes are kept plus 1: 0 is empty */
        *slot = (Kept){node + 1, trie_child(trie, node, word), word};
    return slot->child;
}

/* children(degrees u8) -> where the children of each node begin, u32; degrees are unary, ones ended by a zero */
PyObject *meteor_children(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer degrees;
    if (!PyArg_ParseTuple(args, "y*", &degrees))
        return NULL;
    const uint8_t *bytes = degrees.buf;
    Py_ssize_t nodes = 0;
    for (Py_ssize_t i = 0; i < degrees.len; i++)
        for (int ones = bytes[i] ^ 0xFF; ones; ones &= ones - 1)
            nodes++;
    PyObject *result = PyByteArray_FromStringAndSize(NULL, (nodes + 1) * 4);
    if (result) {
        uint32_t *out = (uint32_t *)PyByteArray_AS_STRING(result), count = 0;
        *out++ = 0;
        for (Py_ssize_t i = 0; i < degrees.len; i++)
            for (int bit = 7; bit >= 0; bit--) {
                if (bytes[i] >> bit & 1)
                    count++;
                else
                    *out++ = count;
            }
    }
    PyBuffer_Release(&degrees);
    return result;
}

/* find_phrases(offsets i64, numbers i32, labels u16, children u32, words) -> (counts i64, spans i32, nodes u32) */
PyObject *meteor_find_phrases(PyObject *self, PyObject *args)
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
    Kept *kept = calloc(STEPS, sizeof(Kept));
    int failed = !counts || !kept;
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
                    node = kept_child(&trie, kept, node, word[i + n]);
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
    free(kept);
    free(spans.data);
    free(nodes.data);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&labels);
    PyBuffer_Release(&children);
    return result;
}

/* A list is the gaps between its nodes: the size of a gap (its bits below the leading one), then these bits. Sizes from
   SHORT on, SHORTS of them, take four bits, as the end does; all others five (tools/build_meteor_tables.py). */
enum { SHORT = 12, SHORTS = 8 };

/* read_lists(nodes u32, sources u32, list_offsets u32, lists u8, local i32) -> (offsets i64, targets i32)
   local: for every node its number in this batch, -1 where the batch does not have it */
PyObject *meteor_read_lists(PyObject *self, PyObject *args)
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
                    bits -= 4;
                    int size = (int)((held >> bits) & 15);
                    if (size == SHORTS)
                        break;
                    if (size < SHORTS)
                        size += SHORT;
                    else {
                        size = 2 * (size - SHORTS - 1) + (int)(held >> --bits & 1);
                        size += size < SHORT ? 0 : SHORTS;
                    }
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
