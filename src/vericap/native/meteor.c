/* METEOR 1.5: statistics of the best reference of each candidate. Buffers in, buffers out. */

#include "meteor.h"

#include <math.h>

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
    Text test = meteor_text(work, candidate);
    double best = -1.0, trial[COLUMNS];
    int failed = work->matchers & 8 ? meteor_index_candidate(work, test) : 0;
    *chosen = -1;
    for (int64_t r = 0; r < count && !failed; r++) {
        Text reference = meteor_text(work, references[r]);
        Path path = {0, 0, 0, 0, -1, -1, 0};
        failed = meteor_find_matches(work, test, reference) || meteor_resolve(work, test, reference, &path);
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
        meteor_forget_candidate(work, test);
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
    work.pairs = calloc(PAIRS, 8);
    Py_ssize_t rows = b[14].len / 8;
    PyObject *values = PyBytes_FromStringAndSize(NULL, rows * COLUMNS * (Py_ssize_t)sizeof(double));
    PyObject *chosen = PyBytes_FromStringAndSize(NULL, rows * 4), *result = NULL;
    int failed = !values || !chosen || !work.head || !work.inverse_head || !work.pairs;
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
    free(work.pairs);
    for (int k = 0; k < 17; k++)
        PyBuffer_Release(b + k);
    return result;
}

static PyMethodDef METHODS[] = {
    {"children", meteor_children, METH_VARARGS, "Where the children of each node begin."},
    {"find_phrases", meteor_find_phrases, METH_VARARGS, "Phrases of the paraphrase table in texts."},
    {"read_lists", meteor_read_lists, METH_VARARGS, "Paraphrases of phrases, those that a batch holds."},
    {"align", align, METH_VARARGS, "Statistics of the best reference of each candidate."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_meteor", NULL, -1, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__meteor(void) { return PyModule_Create(&MODULE); }
