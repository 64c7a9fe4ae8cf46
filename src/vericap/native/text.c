/* What BLEU and ROUGE-L count on n-grams. Twins: vericap/text/ngrams_python.py. */

#include "candidate.h"

/* ---- BLEU ---- */

static void bleu_row(const Candidate *own, int orders, int64_t *row)
{
    for (int n = 0; n < orders; n++) {
        int64_t matches = 0;
        for (int64_t k = own->from[n]; k < own->from[n + 1]; k++)
            matches += own->most[k] < own->count[k] ? own->most[k] : own->count[k];
        row[n] = matches;
        row[orders + n] = own->length > n ? own->length - n : 0;
    }
    row[2 * orders] = own->length;
}

/* bleu(words, longer, offsets, orders, number of words, candidates, reference offsets, references, out i64) */
static PyObject *bleu(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer b[7];
    long long words;
    int orders;
    Table table;
    Candidate own = {0};
    if (!PyArg_ParseTuple(args, "y*y*y*iLy*y*y*w*", &b[0], &b[1], &b[2], &orders, &words, &b[3], &b[4], &b[5], &b[6]))
        return NULL;
    if (table_make(&table, &b[0], &b[1], &b[2], orders))
        return done(b, 7, 1);
    const int64_t *candidates = b[3].buf, *offsets = b[4].buf, *references = b[5].buf;
    int64_t *out = b[6].buf, samples = b[3].len / 8;
    int failed = candidate_make(&own, &table, words);
    for (int64_t s = 0; s < samples && !failed; s++, out += 2 * orders + 2) {
        int64_t best = -1, closest = 0;
        candidate_read(&own, &table, candidates[s]);
        for (int64_t r = offsets[s]; r < offsets[s + 1]; r++) {
            int64_t other = text_length(&table, references[r]);
            int64_t away = other > own.length ? other - own.length : own.length - other;
            if (best < 0 || away < best || (away == best && other < closest)) {
                best = away;
                closest = other;
            }
            candidate_meet(&own, &table, references[r]);
            for (int64_t k = 0; k < own.from[orders]; k++) {
                own.most[k] = own.met[k] > own.most[k] ? own.met[k] : own.most[k];
                own.met[k] = 0;
            }
        }
        bleu_row(&own, orders, out);
        out[2 * orders + 1] = closest;
    }
    candidate_free(&own);
    return done(b, 7, failed);
}

/* ---- ROUGE-L ---- */

/* Longest common subsequence, row by row; `row` has room for the first text and one more. */
static int64_t lcs_long(const int32_t *own, int64_t length, const int32_t *other, int64_t count, int32_t *row)
{
    memset(row, 0, (size_t)(length + 1) * 4);
    for (int64_t j = 0; j < count; j++) {
        int32_t diagonal = 0;
        for (int64_t i = 1; i <= length; i++) {
            int32_t above = row[i];
            if (own[i - 1] == other[j])
                row[i] = diagonal + 1;
            else if (row[i - 1] > above)
                row[i] = row[i - 1];
            diagonal = above;
        }
    }
    return row[length];
}

/* The same for at most 64 words: a row is one number, whose zeros are its steps (Hyyro 2004).
   `masks` has, by word, the places of the first text where it stands. */
static int64_t lcs_short(const uint64_t *masks, int64_t length, const int32_t *other, int64_t count)
{
    uint64_t row = ~(uint64_t)0;
    for (int64_t j = 0; j < count; j++) {
        uint64_t match = row & masks[other[j]];
        row = (row + match) | (row - match);
    }
    uint64_t steps = ~row & (length == 64 ? ~(uint64_t)0 : ((uint64_t)1 << length) - 1);
    int64_t found = 0;
    for (; steps; steps &= steps - 1)
        found++;
    return found;
}

/* lcs(words, offsets, number of words, candidates, reference offsets, references, out i64) */
static PyObject *lcs(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer b[6];
    long long words;
    if (!PyArg_ParseTuple(args, "y*y*Ly*y*y*w*", &b[0], &b[1], &words, &b[2], &b[3], &b[4], &b[5]))
        return NULL;
    Table table = {{b[0].buf}, b[1].buf, b[0].len / 4, b[1].len / 8 - 1, 1};
    const int64_t *candidates = b[2].buf, *offsets = b[3].buf, *references = b[4].buf;
    int64_t *out = b[5].buf, samples = b[2].len / 8;
    int32_t *row = malloc((size_t)(longest_text(&table) + 1) * 4);
    uint64_t *masks = calloc((size_t)words + 1, 8);
    int failed = !row || !masks;
    for (int64_t s = 0; s < samples && !failed; s++) {
        const int32_t *own = text_grams(&table, candidates[s], 0);
        int64_t length = text_length(&table, candidates[s]), masked = length <= 64 ? length : 0;
        for (int64_t i = 0; i < masked; i++)
            masks[own[i]] |= (uint64_t)1 << i;
        for (int64_t r = offsets[s]; r < offsets[s + 1]; r++) {
            const int32_t *other = text_grams(&table, references[r], 0);
            int64_t count = text_length(&table, references[r]);
            out[r] = length > 64 ? lcs_long(own, length, other, count, row) : lcs_short(masks, length, other, count);
        }
        for (int64_t i = 0; i < masked; i++)
            masks[own[i]] = 0;
    }
    free(row);
    free(masks);
    return done(b, 6, failed);
}

static PyMethodDef METHODS[] = {
    {"ngrams", text_ngrams, METH_VARARGS, "Number n-grams: pairs of prefix and last word, starts."},
    {"bleu", bleu, METH_VARARGS, "Clipped matches and lengths per sample."},
    {"lcs", lcs, METH_VARARGS, "Longest common subsequence of candidates with their references."},
    {"documents", text_documents, METH_VARARGS, "Samples in whose references an n-gram occurs."},
    {"cosines", text_cosines, METH_VARARGS, "tf-idf similarity per reference and order."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_text", "N-gram statistics.", -1, METHODS,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__text(void) { return PyModule_Create(&MODULE); }
