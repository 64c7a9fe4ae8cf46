/* Document frequencies and tf-idf similarities. Twins: vericap/text/ngrams_python.py. */

#include "candidate.h"

#include <math.h>

typedef struct { int32_t sample, count; } Seen; /* the sample that counted an n-gram last, and how many did */

/* documents(words, longer, offsets, orders, starts, reference offsets, references, out i32)
   Order by order, so that what is jumped about in stays small. */
PyObject *text_documents(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer b[7];
    int orders, failed = 0;
    Table table;
    if (!PyArg_ParseTuple(args, "y*y*y*iy*y*y*w*", &b[0], &b[1], &b[2], &orders, &b[3], &b[4], &b[5], &b[6]))
        return NULL;
    if (table_make(&table, &b[0], &b[1], &b[2], orders))
        return done(b, 7, 1);
    const int64_t *starts = b[3].buf, *offsets = b[4].buf, *references = b[5].buf;
    int64_t samples = b[4].len / 8 - 1;
    int32_t *out = b[6].buf;
    for (int n = 0; n < orders && !failed; n++) {
        Seen *seen = calloc((size_t)(starts[n + 1] - starts[n]) + 1, sizeof(Seen));
        failed = !seen;
        for (int64_t s = 0; s < samples && seen; s++)
            for (int64_t r = offsets[s]; r < offsets[s + 1]; r++) {
                const int32_t *grams = text_grams(&table, references[r], n);
                for (int64_t i = 0; i < text_length(&table, references[r]) - n; i++) {
                    Seen *found = &seen[grams[i] - starts[n]];
                    found->count += found->sample != (int32_t)(s + 1);
                    found->sample = (int32_t)(s + 1);
                }
            }
        for (int64_t gram = starts[n]; gram < starts[n + 1] && seen; gram++)
            out[gram] = seen[gram - starts[n]].count;
        free(seen);
    }
    return done(b, 7, failed);
}

/* The idf of n-gram g is idf[codes[g]]. Codes that fit are held in two bytes each: less memory to jump about in. */
typedef struct { const int32_t *codes; const double *idf; uint16_t *small; double *square; } Weights;

static int weights_make(Weights *weights, const Py_buffer *codes, const Py_buffer *idf)
{
    int64_t grams = codes->len / 4, count = idf->len / 8, fits = count <= 1 << 16;
    weights->codes = codes->buf;
    weights->idf = idf->buf;
    weights->small = fits ? malloc((size_t)(grams + 1) * 2) : NULL;
    weights->square = malloc((size_t)(count + 1) * sizeof(double));
    if ((fits && !weights->small) || !weights->square)
        return -1;
    for (int64_t gram = 0; gram < grams && fits; gram++)
        weights->small[gram] = (uint16_t)weights->codes[gram];
    for (int64_t code = 0; code < count; code++)
        weights->square[code] = weights->idf[code] * weights->idf[code];
    return 0;
}

static inline int32_t code_of(const Weights *weights, int32_t gram)
{
    return weights->small ? weights->small[gram] : weights->codes[gram];
}

/* How often the n-gram at a place stands in the linked text; 0 where it stood before. */
static int32_t times_at(const Candidate *own, int order, int64_t place)
{
    int32_t gram = own->row[order][place], found = 1;
    if (same_from(own, own->first[own->row[0][place]] - 1, order, gram) < place)
        return 0;
    for (int64_t i = own->next[place]; i >= 0; i = own->next[i])
        found += own->row[order][i] == gram;
    return found;
}

/* Length of a text's tf-idf vector for each order; distinct n-grams are summed in the order of the text, as the tool
   does. Where an n-gram is not repeated, no longer one that begins with it is. */
static void norms_of(Candidate *own, const Table *table, const Weights *weights, int64_t text, double *out)
{
    int repeats = candidate_link(own, table, text);
    for (int n = 0; n < table->orders; n++) {
        const int32_t *grams = own->row[n];
        int still = 0;
        double sum = 0.0;
        if (!repeats)
            for (int64_t i = 0; i < own->length - n; i++)
                sum += weights->square[code_of(weights, grams[i])];
        else
            for (int64_t i = 0; i < own->length - n; i++) {
                int32_t times = own->again[i] ? times_at(own, n, i) : 1;
                double value = times * weights->idf[code_of(weights, grams[i])];
                still |= own->again[i] = times != 1;
                sum += value * value;
            }
        repeats = still;
        out[n] = sqrt(sum);
    }
}

/* Similarity of the candidate with the reference it has met, one number per order; forgets what it met. */
static void similarities(Candidate *own, const Weights *weights, int orders, int clip, const double *norms,
                         const double *other_norms, double *out)
{
    int shared = 1;
    for (int n = 0; n < orders; n++) {
        double sum = 0.0, both = norms[n] * other_norms[n];
        int any = 0;
        for (int64_t k = own->from[n]; shared && k < own->from[n + 1]; k++) {
            if (!own->met[k])
                continue;
            double idf = weights->idf[weights->codes[own->gram[k]]];
            double mine = own->count[k] * idf, theirs = own->met[k] * idf;
            sum += (clip && theirs < mine ? theirs : mine) * theirs;
            own->met[k] = 0;
            any = 1;
        }
        shared = any; /* where no n-gram is shared, no longer one is */
        out[n] = both != 0.0 ? sum / both : sum;
    }
}

static void cosines_of(Candidate *own, const Table *table, const Weights *weights, const double *norms, int clip,
                       const Py_buffer *samples, double *out)
{
    const int64_t *candidates = samples[0].buf, *offsets = samples[1].buf, *references = samples[2].buf;
    for (int64_t s = 0; s < samples[0].len / 8; s++) {
        candidate_read(own, table, candidates[s]);
        for (int64_t r = offsets[s]; r < offsets[s + 1]; r++) {
            candidate_meet(own, table, references[r]);
            similarities(own, weights, table->orders, clip, norms + candidates[s] * table->orders,
                         norms + references[r] * table->orders, out + r * table->orders);
        }
    }
}

/* cosines(words, longer, offsets, orders, number of words, codes, idf, candidates, reference offsets, references, clip,
   out f64) */
PyObject *text_cosines(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer b[9];
    long long words;
    int orders, clip;
    Table table;
    Candidate own = {0};
    Weights weights = {0};
    if (!PyArg_ParseTuple(args, "y*y*y*iLy*y*y*y*y*iw*", &b[0], &b[1], &b[2], &orders, &words, &b[3], &b[4], &b[5],
                          &b[6], &b[7], &clip, &b[8]))
        return NULL;
    if (table_make(&table, &b[0], &b[1], &b[2], orders))
        return done(b, 9, 1);
    double *norms = malloc((size_t)(orders * table.texts + 1) * sizeof(double));
    int failed = candidate_make(&own, &table, words) | weights_make(&weights, &b[3], &b[4]) | !norms;
    for (int64_t text = 0; text < table.texts && !failed; text++)
        norms_of(&own, &table, &weights, text, norms + text * orders);
    if (!failed)
        cosines_of(&own, &table, &weights, norms, clip, b + 5, b[8].buf);
    free(norms);
    free(weights.small);
    free(weights.square);
    candidate_free(&own);
    return done(b, 9, failed);
}
