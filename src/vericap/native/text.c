/* N-gram counts, longest common subsequences and tf-idf similarities. Twins: vericap/text/ngrams_python.py. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ORDERS 8   /* most orders a caller may ask for */
#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)0)
#endif

#ifdef __linux__
#include <sys/mman.h>
#endif

#define BLOCK 32   /* look-ups started together, so that memory is waited for once */

static int compare(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void sort(int32_t *values, int64_t count) {
    if (count > 48) { qsort(values, (size_t)count, sizeof *values, compare); return; }
    for (int64_t i = 1; i < count; i++) {
        int32_t value = values[i];
        int64_t j = i;
        for (; j && values[j - 1] > value; j--) values[j] = values[j - 1];
        values[j] = value;
    }
}

/* ---- numbering n-grams ---- */

typedef struct { uint64_t key; int32_t gram; int32_t used; } Slot;

typedef struct { Slot *slots; uint64_t size; int64_t used; } Map;

static uint64_t place_of(uint64_t key, uint64_t size) {
    key *= 0x9E3779B97F4A7C15ull;
    return (key ^ key >> 32) & (size - 1);
}

/* Empty slots. Look-ups jump about the whole table: large pages spare the processor most address look-ups. */
static Slot *slots_new(uint64_t size) {
    size_t bytes = (size_t)size * sizeof(Slot);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const size_t page = (size_t)1 << 21;
    if (bytes >= 8 * page) {
        Slot *slots = NULL;
        if (posix_memalign((void **)&slots, page, bytes)) return NULL;
        madvise(slots, bytes, MADV_HUGEPAGE);  /* only a hint: without large pages the table works all the same */
        memset(slots, 0, bytes);
        return slots;
    }
#endif
    return calloc(1, bytes);
}

static int map_grow(Map *map) {
    Map larger = {NULL, map->size * 2, map->used};
    larger.slots = slots_new(larger.size);
    if (!larger.slots) return -1;
    for (uint64_t i = 0; i < map->size; i++) {
        if (!map->slots[i].used) continue;
        uint64_t place = place_of(map->slots[i].key, larger.size);
        while (larger.slots[place].used) place = (place + 1) & (larger.size - 1);
        larger.slots[place] = map->slots[i];
    }
    free(map->slots);
    *map = larger;
    return 0;
}

typedef struct { int32_t *prefix, *last; int64_t count, room; } Grams;

static int32_t grams_add(Grams *grams, int32_t prefix, int32_t last) {
    if (grams->count == grams->room) {
        int64_t room = grams->room * 2;
        int32_t *larger = realloc(grams->prefix, (size_t)room * sizeof(int32_t));
        if (!larger) return -1;
        grams->prefix = larger;
        larger = realloc(grams->last, (size_t)room * sizeof(int32_t));
        if (!larger) return -1;
        grams->last = larger;
        grams->room = room;
    }
    grams->prefix[grams->count] = prefix;
    grams->last[grams->count] = last;
    return (int32_t)grams->count++;
}

/* Turn the (order - 1)-gram at each place of current[] into the order-gram there, numbers by first appearance. */
static int next_order(Map *map, Grams *grams, const int32_t *ids, int32_t *current, const int64_t *offsets,
                      int64_t texts, int order) {
    int64_t places[BLOCK];
    uint64_t keys[BLOCK];
    int filled = 0;
    for (int64_t text = 0; text <= texts; text++) {
        int64_t begin = text < texts ? offsets[text] : 0;
        int64_t end = text < texts ? offsets[text + 1] - order + 1 : begin;
        for (int64_t i = begin; i < end || (text == texts && filled); i++) {
            if (i < end) {
                places[filled] = i;
                keys[filled] = (uint64_t)(uint32_t)current[i] << 32 | (uint32_t)ids[i + order - 1];
                PREFETCH(&map->slots[place_of(keys[filled], map->size)]);
                if (++filled < BLOCK) continue;
            }
            for (int k = 0; k < filled; k++) {
                uint64_t place = place_of(keys[k], map->size);
                while (map->slots[place].used && map->slots[place].key != keys[k]) place = (place + 1) & (map->size - 1);
                Slot *slot = &map->slots[place];
                if (!slot->used) {
                    int32_t gram = grams_add(grams, (int32_t)(keys[k] >> 32), (int32_t)(uint32_t)keys[k]);
                    if (gram < 0) return -1;
                    *slot = (Slot){keys[k], gram, 1};
                    current[places[k]] = gram;
                    if ((uint64_t)++map->used * 2 > map->size && map_grow(map)) return -1;
                } else current[places[k]] = slot->gram;
            }
            filled = 0;
        }
    }
    return 0;
}

static PyObject *bytes_of(const void *data, int64_t count, size_t size) {
    return PyByteArray_FromStringAndSize(data, (Py_ssize_t)(count * (int64_t)size));
}

typedef struct { int32_t *grams, *counts; int64_t *rows; int64_t filled; } Lists;

/* Sorted distinct n-grams of every text with their counts. */
static void collect(Lists *lists, const int32_t *current, const int64_t *offsets, int64_t texts, int order,
                    int32_t *scratch) {
    int64_t *rows = lists->rows + (int64_t)(order - 1) * texts;
    for (int64_t text = 0; text < texts; text++) {
        int64_t count = offsets[text + 1] - offsets[text] - order + 1;
        if (count > 0) {
            memcpy(scratch, current + offsets[text], (size_t)count * sizeof(int32_t));
            sort(scratch, count);
            for (int64_t i = 0; i < count;) {
                int64_t j = i;
                while (j < count && scratch[j] == scratch[i]) j++;
                lists->grams[lists->filled] = scratch[i];
                lists->counts[lists->filled++] = (int32_t)(j - i);
                i = j;
            }
        }
        rows[text + 1] = lists->filled;
    }
}

static PyObject *ngrams(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer ids_buffer, offsets_buffer;
    long long vocabulary;
    int orders;
    if (!PyArg_ParseTuple(args, "y*y*Li", &ids_buffer, &offsets_buffer, &vocabulary, &orders)) return NULL;
    const int32_t *ids = ids_buffer.buf;
    const int64_t *offsets = offsets_buffer.buf;
    int64_t texts = offsets_buffer.len / 8 - 1, tokens = ids_buffer.len / 4;
    int64_t entries = 0, longest = 1, starts[ORDERS + 1] = {0};
    for (int64_t text = 0; text < texts; text++) {
        int64_t length = offsets[text + 1] - offsets[text];
        if (length > longest) longest = length;
        for (int n = 0; n < orders; n++) if (length > n) entries += length - n;
    }
    Grams grams = {NULL, NULL, 0, vocabulary + 1024};
    grams.prefix = malloc((size_t)grams.room * sizeof(int32_t));
    grams.last = malloc((size_t)grams.room * sizeof(int32_t));
    int32_t *current = malloc((size_t)(tokens + 1) * sizeof(int32_t));
    int32_t *scratch = malloc((size_t)longest * sizeof(int32_t));
    /* the large lists are written where they are handed over, and cut to size in the end */
    PyObject *list_grams = bytes_of(NULL, entries, 4), *list_counts = bytes_of(NULL, entries, 4);
    PyObject *list_rows = bytes_of(NULL, orders * texts + 1, 8);
    int good = grams.prefix && grams.last && current && scratch && list_grams && list_counts && list_rows;
    Lists lists = {NULL, NULL, NULL, 0};
    if (good) {
        lists.grams = (int32_t *)PyByteArray_AS_STRING(list_grams);
        lists.counts = (int32_t *)PyByteArray_AS_STRING(list_counts);
        lists.rows = (int64_t *)PyByteArray_AS_STRING(list_rows);
        lists.rows[0] = 0;
    }
    PyObject *result = NULL;
    if (good) {
        memcpy(current, ids, (size_t)tokens * sizeof(int32_t));
        for (long long word = 0; word < vocabulary && good; word++) good = grams_add(&grams, -1, (int32_t)word) >= 0;
        for (int order = 1; order <= orders && good; order++) {
            if (order > 1) {
                Map map = {NULL, 1 << 10, 0};
                while (map.size < (uint64_t)tokens) map.size *= 2;  /* about half of all n-grams are distinct */
                map.slots = slots_new(map.size);
                good = map.slots && !next_order(&map, &grams, ids, current, offsets, texts, order);
                free(map.slots);
            }
            starts[order] = grams.count;
            if (good) collect(&lists, current, offsets, texts, order, scratch);
        }
    }
    if (good)
        good = !PyByteArray_Resize(list_grams, (Py_ssize_t)lists.filled * 4)
               && !PyByteArray_Resize(list_counts, (Py_ssize_t)lists.filled * 4);
    if (good)
        result = Py_BuildValue("NNNOOO", bytes_of(grams.prefix, grams.count, 4), bytes_of(grams.last, grams.count, 4),
                               bytes_of(starts, orders + 1, 8), list_rows, list_grams, list_counts);
    else if (!PyErr_Occurred()) PyErr_NoMemory();
    Py_XDECREF(list_grams);
    Py_XDECREF(list_counts);
    Py_XDECREF(list_rows);
    free(grams.prefix); free(grams.last); free(current); free(scratch);
    PyBuffer_Release(&ids_buffer);
    PyBuffer_Release(&offsets_buffer);
    return result;
}

/* ---- what is counted on them ---- */

static void release(Py_buffer *buffers, int count) {
    for (int i = 0; i < count; i++) PyBuffer_Release(&buffers[i]);
}

static PyObject *bleu(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer b[8];
    int orders;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*iw*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &orders, &b[7]))
        return NULL;
    const int64_t *rows = b[0].buf, *lengths = b[3].buf, *candidates = b[4].buf, *offsets = b[5].buf, *references = b[6].buf;
    const int32_t *grams = b[1].buf, *counts = b[2].buf;
    int64_t *out = b[7].buf, samples = b[4].len / 8, texts = b[3].len / 8, most_references = 1;
    for (int64_t s = 0; s < samples; s++)
        if (offsets[s + 1] - offsets[s] > most_references) most_references = offsets[s + 1] - offsets[s];
    int64_t *heads = malloc((size_t)most_references * 2 * sizeof(int64_t)), *tails = heads + most_references;
    if (!heads) { release(b, 8); return PyErr_NoMemory(); }
    for (int64_t s = 0; s < samples; s++, out += 2 * orders + 2) {
        int64_t own = lengths[candidates[s]], best = -1, closest = 0;
        for (int n = 0; n < orders; n++) {
            int64_t begin = rows[n * texts + candidates[s]], end = rows[n * texts + candidates[s] + 1], matches = 0;
            int64_t first = offsets[s], count = offsets[s + 1] - first;
            for (int64_t r = 0; r < count; r++) {
                heads[r] = rows[n * texts + references[first + r]];
                tails[r] = rows[n * texts + references[first + r] + 1];
            }
            for (int64_t i = begin; i < end; i++) {
                int32_t most = 0;
                for (int64_t r = 0; r < count; r++) {
                    int64_t j = heads[r];
                    while (j < tails[r] && grams[j] < grams[i]) j++;
                    if (j < tails[r] && grams[j] == grams[i] && counts[j] > most) most = counts[j];
                    heads[r] = j;
                }
                matches += most < counts[i] ? most : counts[i];
            }
            out[n] = matches;
            out[orders + n] = own > n ? own - n : 0;
        }
        for (int64_t r = offsets[s]; r < offsets[s + 1]; r++) {
            int64_t other = lengths[references[r]], away = other > own ? other - own : own - other;
            if (best < 0 || away < best || (away == best && other < closest)) { best = away; closest = other; }
        }
        out[2 * orders] = own;
        out[2 * orders + 1] = closest;
    }
    free(heads);
    release(b, 8);
    Py_RETURN_NONE;
}

static PyObject *lcs(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer b[6];
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5])) return NULL;
    const int32_t *ids = b[0].buf;
    const int64_t *bounds = b[1].buf, *candidates = b[2].buf, *offsets = b[3].buf, *references = b[4].buf;
    int64_t *out = b[5].buf, samples = b[2].len / 8, room = 0;
    int32_t *row = NULL;
    int failed = 0;
    for (int64_t s = 0; s < samples && !failed; s++) {
        const int32_t *own = ids + bounds[candidates[s]];
        int64_t length = bounds[candidates[s] + 1] - bounds[candidates[s]];
        if (length + 1 > room) {
            free(row);
            room = 2 * length + 64;
            row = malloc((size_t)room * sizeof(int32_t));
            if (!row) { failed = 1; break; }
        }
        for (int64_t r = offsets[s]; r < offsets[s + 1]; r++) {
            memset(row, 0, (size_t)(length + 1) * sizeof(int32_t));
            for (int64_t j = bounds[references[r]]; j < bounds[references[r] + 1]; j++) {
                int32_t diagonal = 0, token = ids[j];
                for (int64_t i = 1; i <= length; i++) {
                    int32_t above = row[i];
                    if (own[i - 1] == token) row[i] = diagonal + 1;
                    else if (row[i - 1] > above) row[i] = row[i - 1];
                    diagonal = above;
                }
            }
            out[r] = row[length];
        }
    }
    free(row);
    release(b, 6);
    if (failed) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *documents(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer b[5];
    long long texts;
    int orders;
    if (!PyArg_ParseTuple(args, "y*y*Ly*y*iw*", &b[0], &b[1], &texts, &b[2], &b[3], &orders, &b[4])) return NULL;
    const int64_t *rows = b[0].buf, *offsets = b[2].buf, *references = b[3].buf;
    const int32_t *grams = b[1].buf;
    int32_t *out = b[4].buf;
    int64_t samples = b[2].len / 8 - 1, total = b[4].len / 4;
    int32_t *seen = calloc((size_t)total + 1, sizeof(int32_t));  /* the sample that counted an n-gram last */
    for (int n = 0; seen && n < orders; n++)
        for (int64_t s = 0; s < samples; s++)
            for (int64_t r = offsets[s]; r < offsets[s + 1]; r++)
                for (int64_t i = rows[n * texts + references[r]]; i < rows[n * texts + references[r] + 1]; i++)
                    if (seen[grams[i]] != s + 1) { seen[grams[i]] = (int32_t)(s + 1); out[grams[i]]++; }
    release(b, 5);
    if (!seen) return PyErr_NoMemory();
    free(seen);
    Py_RETURN_NONE;
}

static PyObject *cosines(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer b[8];
    long long texts;
    int orders, clip;
    if (!PyArg_ParseTuple(args, "y*y*y*y*Ly*y*y*iiw*", &b[0], &b[1], &b[2], &b[3], &texts, &b[4], &b[5], &b[6], &orders,
                          &clip, &b[7])) return NULL;
    const int64_t *rows = b[0].buf, *candidates = b[4].buf, *offsets = b[5].buf, *references = b[6].buf;
    const int32_t *grams = b[1].buf, *counts = b[2].buf;
    const double *weights = b[3].buf;
    double *out = b[7].buf;
    int64_t samples = b[4].len / 8;
    double *norms = malloc((size_t)(orders * texts + 1) * sizeof(double));
    if (norms) {
        for (int64_t row = 0; row < orders * texts; row++) {
            double sum = 0.0;
            for (int64_t i = rows[row]; i < rows[row + 1]; i++) {
                double value = counts[i] * weights[grams[i]];
                sum += value * value;
            }
            norms[row] = sqrt(sum);
        }
        for (int64_t s = 0; s < samples; s++)
            for (int64_t r = offsets[s]; r < offsets[s + 1]; r++)
                for (int n = 0; n < orders; n++) {
                    int64_t own = n * texts + candidates[s], other = n * texts + references[r];
                    int64_t i = rows[own], j = rows[other];
                    double sum = 0.0, both = norms[own] * norms[other];
                    while (i < rows[own + 1] && j < rows[other + 1]) {
                        if (grams[i] < grams[j]) i++;
                        else if (grams[i] > grams[j]) j++;
                        else {
                            double mine = counts[i] * weights[grams[i]], theirs = counts[j] * weights[grams[j]];
                            sum += (clip && theirs < mine ? theirs : mine) * theirs;
                            i++;
                            j++;
                        }
                    }
                    out[r * orders + n] = both != 0.0 ? sum / both : sum;
                }
    }
    int good = norms != NULL;
    free(norms);
    release(b, 8);
    if (!good) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"ngrams", ngrams, METH_VARARGS, "Number and count n-grams: prefix, last, starts, rows, grams, counts."},
    {"bleu", bleu, METH_VARARGS, "Clipped matches and lengths per sample."},
    {"lcs", lcs, METH_VARARGS, "Longest common subsequence of candidates with their references."},
    {"documents", documents, METH_VARARGS, "Samples in whose references an n-gram occurs."},
    {"cosines", cosines, METH_VARARGS, "tf-idf similarity per reference and order."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_text", "N-gram statistics.", -1, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__text(void) { return PyModule_Create(&module); }
