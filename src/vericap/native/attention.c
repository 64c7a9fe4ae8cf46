/* Regions that attend to the words of captions (models/scan.py), one pair after the other, for processors with AVX-512.
 *
 * NumPy takes pairs of one length together and holds all that is made on the way; here it stays in the processor's cache.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#define BUILT 1
#include <immintrin.h>
#else
#define BUILT 0
#endif

static int able(void) {
#if BUILT
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") != 0;
#else
    return 0;
#endif
}

#if BUILT
#define TARGET __attribute__((target("avx512f")))
enum { TILE = 4, LANES = 16 };
static const float TINY = 1e-8f;

/* Inner products of `rows` x `columns` vectors, these at most four each. */
__attribute__((always_inline)) TARGET static inline void tile(const float *a, const float *b, int width, float *out, int step,
                                                              const int rows, const int columns) {
    __m512 sums[TILE][TILE];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int c = 0; c < columns; c++) sums[r][c] = _mm512_setzero_ps();
    for (int k = 0; k < width; k += LANES) {
        __mmask16 there = width - k < LANES ? (__mmask16)((1u << (width - k)) - 1) : 0xffff;
        __m512 y[TILE];
#pragma GCC unroll 4
        for (int c = 0; c < columns; c++) y[c] = _mm512_maskz_loadu_ps(there, b + (size_t)c * width + k);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            __m512 x = _mm512_maskz_loadu_ps(there, a + (size_t)r * width + k);
#pragma GCC unroll 4
            for (int c = 0; c < columns; c++) sums[r][c] = _mm512_fmadd_ps(x, y[c], sums[r][c]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int c = 0; c < columns; c++) out[r * step + c] = _mm512_reduce_add_ps(sums[r][c]);
}

/* (rows, columns) inner products of vectors (rows, width) and (columns, width). */
TARGET static void products(const float *a, int rows, const float *b, int columns, int width, float *out) {
    for (int r = 0; r < rows; r += TILE)
        for (int c = 0; c < columns; c += TILE) {
            const float *x = a + (size_t)r * width, *y = b + (size_t)c * width;
            float *to = out + r * columns + c;
            if (rows - r >= TILE && columns - c >= TILE) {
                tile(x, y, width, to, columns, TILE, TILE);
                continue;
            }
            int high = rows - r < TILE ? rows - r : TILE, wide = columns - c < TILE ? columns - c : TILE;
            for (int i = 0; i < high; i++)
                for (int j = 0; j < wide; j++) tile(x + (size_t)i * width, y + (size_t)j * width, width, to + i * columns + j, columns, 1, 1);
        }
}

/* left G right' of one region; `sums` has room for the columns of G, rows of which are added up: in vectors. */
TARGET static float between(const float *left, int rows, const float *gram, const float *right, int columns, float *restrict sums) {
    float sum = 0;
    memset(sums, 0, sizeof(float) * columns);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) sums[j] += gram[i * columns + j] * left[i];
    for (int j = 0; j < columns; j++) sum += sums[j] * right[j];
    return sum;
}

TARGET static float length(const float *alpha, const float *gram, int count, float *restrict sums) {
    float square = between(alpha, count, gram, alpha, count, sums);
    return sqrtf(square > 0 ? square : 0);
}

typedef struct {
    const float *regions, *mask, *words, *whitened;
    const int64_t *offsets, *images, *captions;
    int count, width, longest; /* regions of an image, their width, places for the weights of words */
    float sharpness, slope;
    float *inner, *plain, *other, *weights;
} Attention;

/* One pair: weights of the words for every region, and what is measured of the contexts they make. */
TARGET static void attend(const Attention *t, Py_ssize_t pair, float *room) {
    int64_t start = t->offsets[t->captions[pair]];
    int words = (int)(t->offsets[t->captions[pair] + 1] - start), count = t->count;
    if (!words) return;
    const float *h = t->words + start * t->width, *mask = t->mask + t->images[pair] * count;
    float *similar = room, *gram = similar + (size_t)count * words, *other = gram + (size_t)words * words, *scale = other + (size_t)words * words;
    float *sums = scale + words;
    int32_t *there = (int32_t *)(sums + words);
    products(t->regions + (size_t)t->images[pair] * count * t->width, count, h, words, t->width, similar);
    products(h, words, h, words, t->width, gram);
    products(t->whitened + start * t->width, words, t->whitened + start * t->width, words, t->width, other);
    for (int j = 0; j < words; j++) {
        float sum = 0;
        for (int i = 0; i < count; i++) {
            float s = similar[i * words + j];
            s = (s > 0 ? s : t->slope * s) * mask[i];
            sum += s * s;
        }
        sum = sqrtf(sum);
        scale[j] = t->sharpness / (sum > TINY ? sum : TINY);
        there[j] = gram[j * words + j] > 0;
    }
    for (int i = 0; i < count; i++) {
        const float *own = similar + i * words;
        float *alpha = t->weights + ((size_t)pair * count + i) * t->longest, top = -INFINITY, sum = 0, inner = 0;
        for (int j = 0; j < words; j++) {
            alpha[j] = (own[j] > 0 ? own[j] : t->slope * own[j]) * mask[i] * scale[j];
            top = alpha[j] > top ? alpha[j] : top;
        }
        for (int j = 0; j < words; j++) sum += alpha[j] = there[j] ? expf(alpha[j] - top) : 0;
        sum = sum > TINY ? sum : TINY;
        for (int j = 0; j < words; j++) inner += (alpha[j] /= sum) * own[j];
        size_t at = (size_t)pair * count + i;
        t->inner[at] = inner, t->plain[at] = length(alpha, gram, words, sums), t->other[at] = length(alpha, other, words, sums);
    }
}

static int longest_of(const int64_t *offsets, const int64_t *captions, Py_ssize_t pairs) {
    int64_t most = 0;
    for (Py_ssize_t p = 0; p < pairs; p++) {
        int64_t own = offsets[captions[p] + 1] - offsets[captions[p]];
        most = own > most ? own : most;
    }
    return (int)most;
}
#endif

/* --- Python ------------------------------------------------------------------------------------------------------- */

static PyObject *py_able(PyObject *self, PyObject *none) { return PyBool_FromLong(able()); }

static PyObject *finished(Py_buffer *all, int count, int good, int enough) {
    for (int i = 0; i < count; i++) PyBuffer_Release(all + i);
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "regions, words and processor do not fit");
        return NULL;
    }
    if (!enough) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* attend(regions, mask, words, whitened, offsets, images, captions, inner, plain, other, weights, regions of an image,
 * width, longest, sharpness, slope): the last four arrays are filled; images and captions are the caller's to get right. */
static PyObject *py_attend(PyObject *self, PyObject *args) {
    Py_buffer b[11];
    int count, width, longest, enough = 1;
    float sharpness, slope;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*w*w*w*w*iiiff", b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6, b + 7, b + 8, b + 9,
                          b + 10, &count, &width, &longest, &sharpness, &slope))
        return NULL;
    Py_ssize_t pairs = b[6].len / 8, cells = pairs * count * 4;
    int good = able() && b[5].len == b[6].len && b[7].len == cells && b[8].len == cells && b[9].len == cells &&
               b[10].len == cells * longest && b[0].len == b[1].len * width && b[2].len == b[3].len;
#if BUILT
    if (good && pairs) {
        Attention t = {b[0].buf, b[1].buf, b[2].buf, b[3].buf, b[4].buf, b[5].buf, b[6].buf, count, width, longest,
                       sharpness, slope, b[7].buf, b[8].buf, b[9].buf, b[10].buf};
        size_t most = longest_of(t.offsets, t.captions, pairs);
        float *room = (good = most <= (size_t)longest) ? malloc(sizeof(float) * (most * (count + 2 * most + 3) + 1)) : NULL;
        enough = !good || room != NULL;
        if (room) {
            Py_BEGIN_ALLOW_THREADS;
            for (Py_ssize_t p = 0; p < pairs; p++) attend(&t, p, room);
            Py_END_ALLOW_THREADS;
            free(room);
        }
    }
#endif
    return finished(b, 11, good, enough);
}

/* products(words, offsets, captions, others, weights, other weights, out, regions of an image, width, longest, other longest):
 * inner products of the contexts that two captions make of the same regions. */
static PyObject *py_products(PyObject *self, PyObject *args) {
    Py_buffer b[7];
    int count, width, longest, other, enough = 1;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*w*iiii", b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6, &count, &width, &longest, &other))
        return NULL;
    Py_ssize_t pairs = b[2].len / 8, cells = pairs * count * 4;
    int good = able() && b[3].len == b[2].len && b[6].len == cells && b[4].len == cells * longest && b[5].len == cells * other;
#if BUILT
    const float *words = b[0].buf, *left = b[4].buf, *right = b[5].buf;
    const int64_t *offsets = b[1].buf, *captions = b[2].buf, *others = b[3].buf;
    good = good && longest_of(offsets, captions, pairs) <= longest && longest_of(offsets, others, pairs) <= other;
    float *gram = good ? malloc(sizeof(float) * (longest + 1) * other + 1) : NULL, *out = b[6].buf;
    enough = !good || gram != NULL;
    if (gram) {
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t p = 0; p < pairs; p++) {
            int64_t first = offsets[captions[p]], second = offsets[others[p]];
            int rows = (int)(offsets[captions[p] + 1] - first), columns = (int)(offsets[others[p] + 1] - second);
            products(words + first * width, rows, words + second * width, columns, width, gram);
            for (int r = 0; r < count; r++, left += longest, right += other)
                *out++ = between(left, rows, gram, right, columns, gram + (size_t)longest * other);
        }
        Py_END_ALLOW_THREADS;
        free(gram);
    }
#endif
    return finished(b, 7, good, enough);
}

static PyMethodDef methods[] = {
    {"able", py_able, METH_NOARGS, "Whether the processor has what the kernel needs."},
    {"attend", py_attend, METH_VARARGS, "Weights of words for regions, and what is measured of their contexts."},
    {"products", py_products, METH_VARARGS, "Inner products of contexts."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_attention", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__attention(void) { return PyModule_Create(&module); }
