/* Photos reduced and enlarged as Pillow does it, to the bit, in a fifth of the time.
 *
 * Two passes, first along rows, then along columns: every output is a weighted sum of the inputs around it, weights of 22
 * bits, rounded to 8 bits after each pass. The twin is Pillow's own `resize` (vericap/vision/resize.py).
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
#define WIDEST __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vnni")))
#define HAS_WIDEST \
    (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
#else
#define HAS_WIDE 0
#define HAS_WIDEST 0
#endif

enum { BITS = 22, HALF = 1 << (BITS - 1), BICUBIC = 3 };

/* For every output: the first input it reads, how many, and their weights (`most` places each); and the weights as three
 * signed digits of base 256, four weights together, digit after digit. */
typedef struct {
    int most, *first, *count;
    int32_t *weights;
    int8_t *digits;
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
    free(t->digits);
    memset(t, 0, sizeof *t);
}

static int taps_make(Taps *t, int in, int out, int kind) {
    double scale = (double)in / out, wide = scale < 1.0 ? 1.0 : scale, support = (kind == BICUBIC ? 2.0 : 1.0) * wide;
    t->most = ((int)ceil(support) * 2 + 1 + 3) & ~3; /* as taps are taken in pairs or fours */
    t->first = malloc(sizeof(int) * 2 * out);
    t->weights = calloc((size_t)out * t->most, sizeof(int32_t));
    t->digits = malloc((size_t)out * t->most * 3);
    double *weights = malloc(sizeof(double) * t->most);
    if (!t->first || !t->weights || !t->digits || !weights) {
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
    for (size_t i = 0; i < (size_t)out * t->most; i++) {
        int32_t rest = t->weights[i];
        for (int d = 0; d < 3; d++) {
            int8_t digit = (int8_t)(uint8_t)rest;
            t->digits[i / 4 * 12 + 4 * d + i % 4] = digit;
            rest = (rest - digit) / 256;
        }
    }
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

/* Four products of a byte and a digit are added up in one instruction. */
#define DIGIT(w, d) _mm512_set1_epi32(((const int32_t *)(w))[d])
WIDEST static inline __m512i whole(__m512i s0, __m512i s1, __m512i s2) {
    __m512i sum = _mm512_add_epi32(_mm512_add_epi32(s0, _mm512_slli_epi32(s1, 8)), _mm512_slli_epi32(s2, 16));
    return _mm512_srai_epi32(_mm512_add_epi32(sum, _mm512_set1_epi32(HALF)), BITS);
}

#define PIXELS(row) _mm_loadu_si128((const __m128i *)((row) + at))
/* As `across_wide`: four pixels of four rows, colours side by side. */
WIDEST static int across_widest(const uint8_t *const *rows, int pixels, const Taps *t, int outputs, uint8_t *const *out) {
    const __m512i order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    int i = 0;
    for (; i < outputs - 1 && t->first[i] + ((t->count[i] + 3) & ~3) <= pixels; i++) {
        const int8_t *w = t->digits + (size_t)i * t->most * 3;
        size_t at = 4 * (size_t)t->first[i];
        __m512i s0 = _mm512_setzero_si512(), s1 = s0, s2 = s0;
        for (int k = 0; k < t->count[i]; k += 4, at += 16, w += 12) {
            __m512i x = _mm512_inserti32x4(_mm512_castsi128_si512(PIXELS(rows[0])), PIXELS(rows[1]), 1);
            x = _mm512_inserti32x4(_mm512_inserti32x4(x, PIXELS(rows[2]), 2), PIXELS(rows[3]), 3);
            x = _mm512_shuffle_epi8(x, order);
            s0 = _mm512_dpbusd_epi32(s0, x, DIGIT(w, 0));
            s1 = _mm512_dpbusd_epi32(s1, x, DIGIT(w, 1));
            s2 = _mm512_dpbusd_epi32(s2, x, DIGIT(w, 2));
        }
        __m512i sum = _mm512_max_epi32(whole(s0, s1, s2), _mm512_setzero_si512());
        int32_t fours[4];
        _mm_storeu_si128((__m128i *)fours, _mm512_cvtusepi32_epi8(sum));
        for (int r = 0; r < 4; r++) memcpy(out[r] + 3 * (size_t)i, fours + r, 4);
    }
    return i;
}

#define TAKE(j, x) \
    s##j##0 = _mm512_dpbusd_epi32(s##j##0, x, d0), s##j##1 = _mm512_dpbusd_epi32(s##j##1, x, d1), \
    s##j##2 = _mm512_dpbusd_epi32(s##j##2, x, d2)
#define SUMS(j) __m512i s##j##0 = _mm512_setzero_si512(), s##j##1 = s##j##0, s##j##2 = s##j##0;
#define WHOLE(j) whole(s##j##0, s##j##1, s##j##2)
/* Sums of columns; input rows come in fours, those that count nothing too. */
WIDEST static void down_widest(const uint8_t *const *in, const int8_t *digits, int count, int bytes, uint8_t *out) {
    for (int x = 0; x < bytes; x += 64) {
        __mmask64 there = bytes - x < 64 ? (1ull << (bytes - x)) - 1 : ~0ull;
        const int8_t *w = digits;
        SUMS(0) SUMS(1) SUMS(2) SUMS(3)
        for (int k = 0; k < count; k += 4, w += 12) {
            __m512i a = _mm512_maskz_loadu_epi8(there, in[k] + x), b = _mm512_maskz_loadu_epi8(there, in[k + 1] + x);
            __m512i c = _mm512_maskz_loadu_epi8(there, in[k + 2] + x), d = _mm512_maskz_loadu_epi8(there, in[k + 3] + x);
            __m512i low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpackhi_epi8(a, b);
            __m512i low2 = _mm512_unpacklo_epi8(c, d), high2 = _mm512_unpackhi_epi8(c, d);
            __m512i d0 = DIGIT(w, 0), d1 = DIGIT(w, 1), d2 = DIGIT(w, 2);
            TAKE(0, _mm512_unpacklo_epi16(low, low2)), TAKE(1, _mm512_unpackhi_epi16(low, low2));
            TAKE(2, _mm512_unpacklo_epi16(high, high2)), TAKE(3, _mm512_unpackhi_epi16(high, high2));
        }
        /* Packing undoes the order that unpacking made. */
        __m512i packed = _mm512_packus_epi16(_mm512_packs_epi32(WHOLE(0), WHOLE(1)), _mm512_packs_epi32(WHOLE(2), WHOLE(3)));
        _mm512_mask_storeu_epi8(out + x, there, packed);
    }
}
#else
static int across_wide(const uint8_t *const *rows, int pixels, const Taps *t, int outputs, uint8_t *const *out) { return 0; }
static int down_wide(const uint8_t *const *in, const int32_t *w, int count, int bytes, uint8_t *out) { return 0; }
static int across_widest(const uint8_t *const *rows, int pixels, const Taps *t, int outputs, uint8_t *const *out) { return 0; }
static void down_widest(const uint8_t *const *in, const int8_t *digits, int count, int bytes, uint8_t *out) {}
#endif

/* Four rows along their length, or fewer at the end; 3 bytes of every pixel where the length stays. */
static void across(const uint8_t *const *rows, int count, int width, const Taps *t, int wide, uint8_t *const *out) {
    int done = 0;
    if (count == 4 && width != wide && HAS_WIDE) done = (HAS_WIDEST ? across_widest : across_wide)(rows, width, t, wide, out);
    for (int r = 0; r < count; r++) {
        if (width == wide)
            for (int x = 0; x < wide; x++) memcpy(out[r] + 3 * (size_t)x, rows[r] + 4 * (size_t)x, 3);
        else
            across_plain(rows[r], t, done, wide, out[r]);
    }
}

/* One output row from the rows it reads; `rows` has room for as many as there are weights. */
static void down(const uint8_t **rows, int line, int y, const Taps *t, uint8_t *out) {
    const int32_t *w = t->weights + (size_t)y * t->most;
    int count = t->count[y];
    for (int k = count; k < t->most; k++) rows[k] = rows[0]; /* they count nothing */
    if (HAS_WIDEST) down_widest(rows, t->digits + (size_t)y * t->most * 3, count, line, out);
    else down_plain(rows, w, count, HAS_WIDE ? down_wide(rows, w, count, line, out) : 0, line, out);
}

typedef struct {
    const uint8_t *in;
    int width, height, wide, high;
    Taps along, below;
    uint8_t *between;
    const uint8_t **rows;
} Photo;

enum { FOUR = 4 };

/* Columns first: four rows of the new height, then these along their length. */
static void columns_first(const Photo *p, uint8_t *out) {
    size_t line = (size_t)p->width * 4;
    for (int y = 0; y < p->high; y += FOUR) {
        const uint8_t *rows[FOUR];
        uint8_t *to[FOUR];
        int count = p->high - y < FOUR ? p->high - y : FOUR;
        for (int r = 0; r < count; r++) {
            for (int k = 0; k < p->below.count[y + r]; k++) p->rows[k] = p->in + (p->below.first[y + r] + k) * line;
            down(p->rows, (int)line, y + r, &p->below, p->between + r * line);
            rows[r] = p->between + r * line, to[r] = out + (size_t)(y + r) * p->wide * 3;
        }
        across(rows, count, p->width, &p->along, p->wide, to);
    }
}

/* Rows first: those that an output row reads are made when it comes, and kept in a ring of `held`. */
static void rows_first(const Photo *p, int held, uint8_t *out) {
    size_t line = (size_t)p->wide * 3;
    for (int y = 0, have = 0; y < p->high; y++) {
        int same = p->height == p->high, first = same ? y : p->below.first[y], count = same ? 1 : p->below.count[y];
        for (; have < first + count; have += FOUR) {
            const uint8_t *rows[FOUR];
            uint8_t *to[FOUR];
            int made = p->height - have < FOUR ? p->height - have : FOUR;
            for (int r = 0; r < made; r++) {
                rows[r] = p->in + (size_t)(have + r) * p->width * 4;
                to[r] = p->between + (size_t)((have + r) % held) * line;
            }
            across(rows, made, p->width, &p->along, p->wide, to);
        }
        for (int k = 0; k < count; k++) p->rows[k] = p->between + (size_t)((first + k) % held) * line;
        if (same) memcpy(out + y * line, p->rows[0], line);
        else down(p->rows, (int)line, y, &p->below, out + y * line);
    }
}

/* 4 bytes a pixel -> 3 bytes a pixel of the size asked for, in the order in which Pillow 13 takes the passes (before it rows
 * came first always: the same but for the last bit). A pass that changes no size is left out. Few rows are held between both:
 * fresh memory for all would take as long as a pass. */
static int resize(const uint8_t *in, int width, int height, uint8_t *out, int wide, int high, int kind) {
    Photo p = {in, width, height, wide, high, {0}, {0}, NULL, NULL};
    int less = width > wide ? 2 * (width - wide) : 0, columns = height - high > less;
    int failed = taps_make(&p.along, width, wide, kind) || taps_make(&p.below, height, high, kind);
    int held = columns ? FOUR : p.below.most + 2 * FOUR;
    if (!failed) {
        p.between = malloc((columns ? (size_t)width * 4 : (size_t)wide * 3) * held + 1);
        p.rows = malloc(sizeof *p.rows * p.below.most);
        failed = !p.between || !p.rows;
    }
    if (!failed && columns) columns_first(&p, out);
    else if (!failed) rows_first(&p, held, out);
    free(p.rows);
    free(p.between);
    taps_free(&p.along);
    taps_free(&p.below);
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
