/* Photos reduced and enlarged as Pillow does it, to the bit, in a fifth of the time.
 *
 * Two passes, first along rows, then along columns: every output is a weighted sum of the inputs around it, weights of 22
 * bits, rounded to 8 bits after each pass. The twin is Pillow's own `resize` (vericap/vision/squeeze.py).
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#include <immintrin.h>
#define WIDE __attribute__((target("avx2")))
#define HAS_WIDE __builtin_cpu_supports("avx2")
#else
#define HAS_WIDE 0
#endif

enum { BITS = 22, HALF = 1 << (BITS - 1), BICUBIC = 3 };

/* For every output: the first input it reads, how many, and their weights (`most` places each). */
typedef struct {
    int most, *first, *count;
    int32_t *weights;
} Taps;

static double bilinear(double x) { return (x = fabs(x)) < 1.0 ? 1.0 - x : 0.0; }

static double bicubic(double x) {
    x = fabs(x);
    if (x < 1.0) return ((-0.5 + 2.0) * x - (-0.5 + 3.0)) * x * x + 1;
    return x < 2.0 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0.0;
}

static void taps_free(Taps *t) {
    free(t->first);
    free(t->weights);
    memset(t, 0, sizeof *t);
}

static int taps_make(Taps *t, int in, int out, int kind) {
    double scale = (double)in / out, wide = scale < 1.0 ? 1.0 : scale, support = (kind == BICUBIC ? 2.0 : 1.0) * wide;
    t->most = ((int)ceil(support) * 2 + 1 + 1) & ~1; /* even, as taps are taken in pairs */
    t->first = malloc(sizeof(int) * 2 * out);
    t->weights = calloc((size_t)out * t->most, sizeof(int32_t));
    double *weights = malloc(sizeof(double) * t->most);
    if (!t->first || !t->weights || !weights) {
        free(weights);
        return -1;
    }
    t->count = t->first + out;
    for (int i = 0; i < out; i++) {
        double centre = (i + 0.5) * scale, sum = 0.0;
        int low = (int)(centre - support + 0.5), high = (int)(centre + support + 0.5);
        if (low < 0) low = 0;
        if (high > in) high = in;
        for (int k = 0; k < high - low; k++) {
            double x = (k + low - centre + 0.5) * (1.0 / wide);
            weights[k] = kind == BICUBIC ? bicubic(x) : bilinear(x);
            sum += weights[k];
        }
        for (int k = 0; k < high - low; k++) {
            double w = sum != 0.0 ? weights[k] / sum : weights[k];
            t->weights[(size_t)i * t->most + k] = (int32_t)(w < 0 ? -0.5 + w * (1 << BITS) : 0.5 + w * (1 << BITS));
        }
        t->first[i] = low;
        t->count[i] = high - low;
    }
    free(weights);
    return 0;
}

static inline uint8_t byte(int32_t sum) { return (uint8_t)((sum >>= BITS) < 0 ? 0 : sum > 255 ? 255 : sum); }

/* --- along rows: 4 bytes a pixel in, 3 out -------------------------------------------------------------------------- */

static void across_plain(const uint8_t *row, const Taps *t, int from, int to, uint8_t *out) {
    for (int i = from; i < to; i++) {
        const int32_t *w = t->weights + (size_t)i * t->most;
        const uint8_t *p = row + 4 * (size_t)t->first[i];
        int32_t sum[3] = {HALF, HALF, HALF};
        for (int k = 0; k < t->count[i]; k++)
            for (int c = 0; c < 3; c++) sum[c] += p[4 * k + c] * w[k];
        for (int c = 0; c < 3; c++) out[3 * i + c] = byte(sum[c]);
    }
}

/* Sums of one output column: input rows in[k] (bytes) x weights. */
static void down_plain(const uint8_t *const *in, const int32_t *w, int count, int from, int to, uint8_t *out) {
    for (int x = from; x < to; x++) {
        int32_t sum = HALF;
        for (int k = 0; k < count; k++) sum += in[k][x] * w[k];
        out[x] = byte(sum);
    }
}

#ifdef WIDE
/* Sums of two pixels at once (their four bytes as eight numbers) to the bytes of one; the fourth is written over by the
 * next pixel. */
WIDE static inline void put(__m256i sum, uint8_t *to) {
    __m128i both = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    both = _mm_srai_epi32(_mm_add_epi32(both, _mm_set1_epi32(HALF)), BITS);
    both = _mm_packus_epi16(_mm_packs_epi32(both, both), both);
    int32_t four = _mm_cvtsi128_si32(both);
    memcpy(to, &four, 4);
}

#define PAIR(row) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)((row) + at)))
#define ADD(sum, row) sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(PAIR(row), weight))
/* Four rows at once, as they share their weights. The last outputs, whose pairs would read past the row, are left. */
WIDE static int across_wide(const uint8_t *const *rows, int pixels, const Taps *t, int outputs, uint8_t *const *out) {
    const uint8_t *r0 = rows[0], *r1 = rows[1], *r2 = rows[2], *r3 = rows[3];
    int i = 0;
    for (; i < outputs - 1 && t->first[i] + ((t->count[i] + 1) & ~1) <= pixels; i++) {
        const int32_t *w = t->weights + (size_t)i * t->most;
        size_t at = 4 * (size_t)t->first[i], to = 3 * (size_t)i;
        __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
        for (int k = 0; k < t->count[i]; k += 2, at += 8) {
            __m256i weight = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_set1_epi32(w[k])), _mm_set1_epi32(w[k + 1]), 1);
            ADD(s0, r0), ADD(s1, r1), ADD(s2, r2), ADD(s3, r3);
        }
        put(s0, out[0] + to), put(s1, out[1] + to), put(s2, out[2] + to), put(s3, out[3] + to);
    }
    return i;
}

WIDE static int down_wide(const uint8_t *const *in, const int32_t *w, int count, int bytes, uint8_t *out) {
    int x = 0;
    for (; x + 16 <= bytes; x += 16) {
        __m256i low = _mm256_set1_epi32(HALF), high = low;
        for (int k = 0; k < count; k++) {
            __m128i b = _mm_loadu_si128((const __m128i *)(in[k] + x));
            __m256i weight = _mm256_set1_epi32(w[k]);
            low = _mm256_add_epi32(low, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(b), weight));
            high = _mm256_add_epi32(high, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(_mm_srli_si128(b, 8)), weight));
        }
        __m256i words = _mm256_packs_epi32(_mm256_srai_epi32(low, BITS), _mm256_srai_epi32(high, BITS));
        words = _mm256_permute4x64_epi64(words, 0xd8); /* packing works in halves */
        __m128i packed = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm_storeu_si128((__m128i *)(out + x), packed);
    }
    return x;
}
#else
static int across_wide(const uint8_t *const *rows, int pixels, const Taps *t, int outputs, uint8_t *const *out) { return 0; }
static int down_wide(const uint8_t *const *in, const int32_t *w, int count, int bytes, uint8_t *out) { return 0; }
#endif

/* Rows along their length; 3 bytes of every pixel where the length stays. The last four may overlap those before. */
static void across(const uint8_t *in, int count, int width, const Taps *t, int wide, uint8_t *out) {
    int wide_rows = HAS_WIDE && count >= 4 && width != wide;
    for (int first = 0; first < count; first += 4) {
        const uint8_t *rows[4];
        uint8_t *to[4];
        int start = wide_rows && first + 4 > count ? count - 4 : first, done = 0;
        for (int r = 0; r < 4 && start + r < count; r++) {
            rows[r] = in + (size_t)(start + r) * width * 4;
            to[r] = out + (size_t)(start + r) * wide * 3;
        }
        if (wide_rows) done = across_wide(rows, width, t, wide, to);
        for (int r = 0; r < 4 && start + r < count; r++) {
            if (width == wide)
                for (int x = 0; x < wide; x++) memcpy(to[r] + 3 * (size_t)x, rows[r] + 4 * (size_t)x, 3);
            else
                across_plain(rows[r], t, done, wide, to[r]);
        }
    }
}

/* One output row from the rows around it; `rows` is room for their addresses. */
static void down(const uint8_t *in, size_t line, int y, const Taps *t, const uint8_t **rows, uint8_t *out) {
    const int32_t *w = t->weights + (size_t)y * t->most;
    for (int k = 0; k < t->count[y]; k++) rows[k] = in + (t->first[y] + k) * line;
    down_plain(rows, w, t->count[y], HAS_WIDE ? down_wide(rows, w, t->count[y], (int)line, out) : 0, (int)line, out);
}

/* 4 bytes a pixel -> 3 bytes a pixel of the size asked for, in the order in which Pillow 13 takes the passes (before it rows
 * came first always: the same but for the last bit). A pass that changes no size is left out. */
static int resize(const uint8_t *in, int width, int height, uint8_t *out, int wide, int high, int kind) {
    Taps along = {0}, below = {0};
    int less = width > wide ? 2 * (width - wide) : 0, columns_first = height - high > less;
    size_t line = columns_first ? (size_t)width * 4 : (size_t)wide * 3;
    int lines = columns_first ? high : height;
    uint8_t *between = malloc(line * lines + 1);
    int failed = !between || taps_make(&along, width, wide, kind) || taps_make(&below, height, high, kind);
    const uint8_t **rows = failed ? NULL : malloc(sizeof *rows * below.most);
    if (rows && columns_first) {
        for (int y = 0; y < high; y++) down(in, line, y, &below, rows, between + y * line);
        across(between, high, width, &along, wide, out);
    } else if (rows) {
        across(in, height, width, &along, wide, between);
        if (height == high) memcpy(out, between, line * high);
        else
            for (int y = 0; y < high; y++) down(between, line, y, &below, rows, out + y * line);
    }
    failed = !rows;
    free(rows);
    free(between);
    taps_free(&along);
    taps_free(&below);
    return failed ? -1 : 0;
}

/* --- Python ------------------------------------------------------------------------------------------------------- */

/* The C data interface of Arrow, by which Pillow lends its pixels. */
typedef struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
} ArrowArray;

/* Pixels of a capsule that Pillow's __arrow_c_array__ gave, or NULL where they are not 4 bytes each. */
static const uint8_t *lent(PyObject *capsule, Py_ssize_t pixels) {
    ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (!array) return NULL;
    ArrowArray *bytes = array->n_children == 1 ? array->children[0] : NULL;
    if (!bytes || array->offset || bytes->offset || array->length != pixels || bytes->length != 4 * pixels || bytes->n_buffers != 2) {
        PyErr_SetString(PyExc_ValueError, "the pixels are not 4 bytes each");
        return NULL;
    }
    return bytes->buffers[1];
}

/* resize(pixels: bytes or capsule, 4 bytes a pixel; width, height, out: 3 bytes a pixel, width, height, filter of Pillow) */
static PyObject *py_resize(PyObject *self, PyObject *args) {
    PyObject *source;
    Py_buffer out, given = {0};
    int width, height, wide, high, kind, result = -1;
    if (!PyArg_ParseTuple(args, "Oiiw*iii", &source, &width, &height, &out, &wide, &high, &kind)) return NULL;
    Py_ssize_t pixels = (Py_ssize_t)width * height;
    const uint8_t *in = NULL;
    if (width < 1 || height < 1 || wide < 1 || high < 1 || out.len != (Py_ssize_t)wide * high * 3)
        PyErr_SetString(PyExc_ValueError, "the sizes do not fit");
    else if (PyCapsule_CheckExact(source))
        in = lent(source, pixels);
    else if (PyObject_GetBuffer(source, &given, PyBUF_SIMPLE) == 0) {
        if (given.len == 4 * pixels) in = given.buf;
        else PyErr_SetString(PyExc_ValueError, "the pixels are not 4 bytes each");
    }
    if (in) {
        Py_BEGIN_ALLOW_THREADS;
        result = resize(in, width, height, out.buf, wide, high, kind);
        Py_END_ALLOW_THREADS;
        if (result) PyErr_NoMemory();
    }
    if (given.obj) PyBuffer_Release(&given);
    PyBuffer_Release(&out);
    if (result) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"resize", py_resize, METH_VARARGS, "Pixels of another size, as Pillow makes them."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_resize", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__resize(void) { return PyModule_Create(&module); }
