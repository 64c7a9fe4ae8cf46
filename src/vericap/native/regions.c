/* Regions of photos: maps pooled inside boxes, boxes of objects kept apart, values of half the length.
 *
 * The twins are in vericap/vision: regions.py, cells.py, halves.py. Vectors are as long as the processor has them; every
 * sum is made cell after cell, whatever their length.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#define BUILT 1
#include <immintrin.h>
#else
#define BUILT 0
#endif

typedef struct {
    const float *values;
    int height, width, channels;
} Map;

typedef struct {
    int top, bottom, left, right;
} Cells;

/* --- pooling ------------------------------------------------------------------------------------------------------ */

enum { TOGETHER = 64 }; /* channels whose sums stay in registers */

#define POOL(name, attributes) \
    attributes static void name(Map m, Cells c, const float *weights, float *out) { \
        for (int at = 0; at < m.channels; at += TOGETHER) { \
            int count = m.channels - at < TOGETHER ? m.channels - at : TOGETHER; \
            float sums[TOGETHER] = {0}; \
            const float *weight = weights; \
            for (int y = c.top; y < c.bottom; y++) \
                for (int x = c.left; x < c.right; x++, weight++) { \
                    const float *values = m.values + ((size_t)y * m.width + x) * m.channels + at; \
                    if (count == TOGETHER) \
                        for (int i = 0; i < TOGETHER; i++) sums[i] += values[i] * *weight; \
                    else \
                        for (int i = 0; i < count; i++) sums[i] += values[i] * *weight; \
                } \
            for (int i = 0; i < count; i++) out[at + i] = sums[i]; \
        } \
    }
POOL(pool_plain, )
#if BUILT
POOL(pool_avx2, __attribute__((target("avx2"))))
POOL(pool_avx512, __attribute__((target("avx512f,prefer-vector-width=512"))))
#endif

typedef void (*Pool)(Map, Cells, const float *, float *);

static Pool pooling(void) {
#if BUILT
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return pool_avx512;
    if (__builtin_cpu_supports("avx2")) return pool_avx2;
#endif
    return pool_plain;
}

/* How much of the cell between `at` and `at + 1` lies between low and high. */
static float covered(double low, double high, int at) {
    double from = low > at ? low : at, to = high < at + 1 ? high : at + 1;
    return to > from ? (float)(to - from) : 0.0f;
}

/* The cells that a box (left, top, right, bottom as shares of the sides) touches, and their shares of it. */
static Cells cells_of(const float *box, int height, int width, float *weights) {
    double left = (double)box[0] * width, top = (double)box[1] * height, right = (double)box[2] * width, bottom = (double)box[3] * height;
    Cells c = {height, 0, width, 0};
    for (int y = 0; y < height; y++)
        if (covered(top, bottom, y) > 0) c.bottom = y + 1, c.top = c.top < y ? c.top : y;
    for (int x = 0; x < width; x++)
        if (covered(left, right, x) > 0) c.right = x + 1, c.left = c.left < x ? c.left : x;
    if (c.top >= c.bottom || c.left >= c.right) return (Cells){0, 0, 0, 0};
    double sum = 0;
    float *to = weights;
    for (int y = c.top; y < c.bottom; y++)
        for (int x = c.left; x < c.right; x++) sum += *to++ = covered(top, bottom, y) * covered(left, right, x);
    float whole = sum > 1e-12 ? (float)sum : 1e-12f;
    for (float *one = weights; one < to; one++) *one /= whole;
    return c;
}

/* pool(map, height, width, channels, cells of each box (top, bottom, left, right), their weights box after box, out) */
static PyObject *py_pool(PyObject *self, PyObject *args) {
    Py_buffer map, cells, weights, out;
    int height, width, channels;
    if (!PyArg_ParseTuple(args, "y*iiiy*y*w*", &map, &height, &width, &channels, &cells, &weights, &out)) return NULL;
    const int32_t *cell = cells.buf;
    Py_ssize_t boxes = cells.len / 16, taken = 0;
    int good = map.len == (Py_ssize_t)4 * height * width * channels && out.len == boxes * 4 * channels;
    for (Py_ssize_t b = 0; good && b < boxes; b++) {
        const int32_t *c = cell + 4 * b;
        good = 0 <= c[0] && c[0] <= c[1] && c[1] <= height && 0 <= c[2] && c[2] <= c[3] && c[3] <= width;
        taken += (Py_ssize_t)(c[1] - c[0]) * (c[3] - c[2]);
    }
    if ((good = good && weights.len == 4 * taken)) {
        Map m = {map.buf, height, width, channels};
        Pool pool = pooling();
        const float *weight = weights.buf;
        for (Py_ssize_t b = 0; b < boxes; b++, cell += 4) {
            Cells c = {cell[0], cell[1], cell[2], cell[3]};
            pool(m, c, weight, (float *)out.buf + b * channels);
            weight += (size_t)(c.bottom - c.top) * (c.right - c.left);
        }
    }
    Py_buffer *all[] = {&map, &cells, &weights, &out};
    for (int i = 0; i < 4; i++) PyBuffer_Release(all[i]);
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "map, boxes and weights do not fit");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* pool_boxes(map, height, width, channels, boxes, out): a box without area is all zero. */
static PyObject *py_pool_boxes(PyObject *self, PyObject *args) {
    Py_buffer map, boxes, out;
    int height, width, channels;
    if (!PyArg_ParseTuple(args, "y*iiiy*w*", &map, &height, &width, &channels, &boxes, &out)) return NULL;
    Py_ssize_t count = boxes.len / 16;
    int good = height > 0 && width > 0 && map.len == (Py_ssize_t)4 * height * width * channels && out.len == count * 4 * channels;
    float *weights = good ? malloc(sizeof(float) * height * width) : NULL;
    if (weights) {
        Map m = {map.buf, height, width, channels};
        Pool pool = pooling();
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t b = 0; b < count; b++) {
            Cells c = cells_of((const float *)boxes.buf + 4 * b, height, width, weights);
            pool(m, c, weights, (float *)out.buf + b * channels);
        }
        Py_END_ALLOW_THREADS;
        free(weights);
    }
    Py_buffer *all[] = {&map, &boxes, &out};
    for (int i = 0; i < 3; i++) PyBuffer_Release(all[i]);
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "map and boxes do not fit");
        return NULL;
    }
    if (!weights) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* --- boxes apart -------------------------------------------------------------------------------------------------- */

static float area(const float *box) { return (box[2] - box[0]) * (box[3] - box[1]); }

static float shared_area(const float *a, const float *b) {
    float across = (a[2] < b[2] ? a[2] : b[2]) - (a[0] > b[0] ? a[0] : b[0]);
    float down = (a[3] < b[3] ? a[3] : b[3]) - (a[1] > b[1] ? a[1] : b[1]);
    return (across > 0 ? across : 0) * (down > 0 ? down : 0);
}

/* apart(boxes, the best first, overlap, most, out): numbers of boxes that overlap no better one too much; their count. */
static PyObject *py_apart(PyObject *self, PyObject *args) {
    Py_buffer boxes, out;
    float overlap;
    int most, kept = 0;
    if (!PyArg_ParseTuple(args, "y*fiw*", &boxes, &overlap, &most, &out)) return NULL;
    const float *box = boxes.buf;
    int32_t *number = out.buf;
    Py_ssize_t count = boxes.len / 16;
    int good = most >= 0 && out.len >= (Py_ssize_t)4 * most;
    for (Py_ssize_t i = 0; good && i < count && kept < most; i++) {
        int alive = 1;
        for (int k = 0; alive && k < kept; k++) {
            const float *better = box + 4 * (size_t)number[k];
            float shared = shared_area(box + 4 * i, better);
            alive = shared < overlap * (area(box + 4 * i) + area(better) - shared);
        }
        if (alive) number[kept++] = (int32_t)i;
    }
    PyBuffer_Release(&boxes);
    PyBuffer_Release(&out);
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "there is no room for the boxes");
        return NULL;
    }
    return PyLong_FromLong(kept);
}

/* --- halves ------------------------------------------------------------------------------------------------------- */

#if BUILT
__attribute__((target("f16c,avx"))) static void narrow(const float *from, Py_ssize_t count, uint16_t *to) {
    Py_ssize_t i = 0;
    for (; i + 8 <= count; i += 8) _mm_storeu_si128((__m128i *)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), 0));
    for (; i < count; i++) to[i] = _cvtss_sh(from[i], 0);
}

__attribute__((target("f16c,avx"))) static void widen(const uint16_t *from, Py_ssize_t count, float *to) {
    Py_ssize_t i = 0;
    for (; i + 8 <= count; i += 8) _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    for (; i < count; i++) to[i] = _cvtsh_ss(from[i]);
}
#endif

static int halves(void) {
#if BUILT
    __builtin_cpu_init();
    return __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx");
#else
    return 0;
#endif
}

static PyObject *converted(PyObject *args, int narrows) {
    Py_buffer from, to;
    if (!PyArg_ParseTuple(args, "y*w*", &from, &to)) return NULL;
    Py_ssize_t count = from.len / (narrows ? 4 : 2);
    int good = halves() && to.len == count * (narrows ? 2 : 4);
#if BUILT
    if (good && narrows) narrow(from.buf, count, to.buf);
    if (good && !narrows) widen(from.buf, count, to.buf);
#endif
    PyBuffer_Release(&from);
    PyBuffer_Release(&to);
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "values, their copy and processor do not fit");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *py_halves(PyObject *self, PyObject *none) { return PyBool_FromLong(halves()); }
static PyObject *py_narrow(PyObject *self, PyObject *args) { return converted(args, 1); }
static PyObject *py_widen(PyObject *self, PyObject *args) { return converted(args, 0); }

static PyMethodDef methods[] = {
    {"apart", py_apart, METH_VARARGS, "Boxes of which no two overlap much."},
    {"halves", py_halves, METH_NOARGS, "Whether the processor converts halves."},
    {"narrow", py_narrow, METH_VARARGS, "float32 as float16."},
    {"pool", py_pool, METH_VARARGS, "Weighted sums of a map's cells."},
    {"pool_boxes", py_pool_boxes, METH_VARARGS, "Area-weighted means of a map inside boxes."},
    {"widen", py_widen, METH_VARARGS, "float16 as float32."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_regions", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__regions(void) { return PyModule_Create(&module); }
