/* Fully connected layers in float32: rows x weights' + bias, for processors with AVX-512.
 *
 * A sum is made in one order, input after input, however many rows are given together: a region has the same vector alone
 * and in a batch. vericap/models/dense.py packs the weights; where there is no AVX-512, NumPy serves.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#define BUILT 1
#include <immintrin.h>
#else
#define BUILT 0
#endif

enum { LANES = 16, GROUP = 4, TILE = 6 }; /* outputs of a vector, vectors of a panel, rows made together */
enum { BLOCK = 144, DEPTH = 512 };        /* rows and inputs that stay in the cache while all panels pass */

typedef struct {
    const float *x, *weights, *bias;
    float *out;
    int rows, inputs, outputs, add, rectify;
} Product;

#if BUILT
#define TARGET __attribute__((target("avx512f")))

/* `rows` x `vectors` sums over inputs from..end; `first`: they begin with the bias (or, in `add`, what is there too). */
__attribute__((always_inline)) TARGET static inline void tile(const Product *p, int row, int at, const float *w, int from, int end,
                                                              const int rows, const int vectors) {
    __m512 sums[TILE][GROUP];
    const float *x = p->x + (size_t)row * p->inputs;
    float *out = p->out + (size_t)row * p->outputs + at;
    __mmask16 masks[GROUP];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        int left = p->outputs - at - v * LANES;
        masks[v] = left >= LANES ? 0xffff : (__mmask16)((1u << left) - 1);
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            __m512 sum = from ? _mm512_setzero_ps() : _mm512_loadu_ps(p->bias + at + v * LANES);
            if (from || p->add) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(masks[v], out + (size_t)r * p->outputs + v * LANES));
            sums[r][v] = sum;
        }
    for (int k = from; k < end; k++, w += vectors * LANES) {
        __m512 own[GROUP];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) own[v] = _mm512_loadu_ps(w + v * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            __m512 value = _mm512_set1_ps(x[(size_t)r * p->inputs + k]);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) sums[r][v] = _mm512_fmadd_ps(value, own[v], sums[r][v]);
        }
    }
    int last = end == p->inputs && p->rectify;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            __m512 sum = last ? _mm512_max_ps(sums[r][v], _mm512_setzero_ps()) : sums[r][v];
            _mm512_mask_storeu_ps(out + (size_t)r * p->outputs + v * LANES, masks[v], sum);
        }
}

#define ROWS(r, v) \
    case r: \
        tile(p, row, at, w, from, end, r, v); \
        break;
#define PANEL(v) \
    TARGET static void panel##v(const Product *p, int row, int stop, int at, const float *w, int from, int end) { \
        for (; row < stop; row += TILE) switch (stop - row) { \
                ROWS(1, v) ROWS(2, v) ROWS(3, v) ROWS(4, v) ROWS(5, v) \
                default: tile(p, row, at, w, from, end, TILE, v); \
            } \
    }
PANEL(1)
PANEL(2)
PANEL(3)
PANEL(4)

TARGET static void product(const Product *p) {
    static void (*const panels[])(const Product *, int, int, int, const float *, int, int) = {panel1, panel2, panel3, panel4};
    for (int row = 0; row < p->rows; row += BLOCK) {
        int stop = row + BLOCK < p->rows ? row + BLOCK : p->rows;
        for (int from = 0; from < p->inputs; from += DEPTH) {
            int end = from + DEPTH < p->inputs ? from + DEPTH : p->inputs;
            for (int at = 0; at < p->outputs; at += GROUP * LANES) {
                int left = (p->outputs - at + LANES - 1) / LANES, vectors = left < GROUP ? left : GROUP;
                const float *w = p->weights + (size_t)at * p->inputs + (size_t)from * vectors * LANES;
                panels[vectors - 1](p, row, stop, at, w, from, end);
            }
        }
    }
}
#endif

static int able(void) {
#if BUILT
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") != 0;
#else
    return 0;
#endif
}

/* --- Python ------------------------------------------------------------------------------------------------------- */

static PyObject *py_able(PyObject *self, PyObject *none) { return PyBool_FromLong(able()); }

/* product(x, weights, bias, out, inputs, outputs, add, rectify): weights and bias in whole vectors of outputs. */
static PyObject *py_product(PyObject *self, PyObject *args) {
    Py_buffer x, weights, bias, out;
    int inputs, outputs, add, rectify;
    if (!PyArg_ParseTuple(args, "y*y*y*w*iipp", &x, &weights, &bias, &out, &inputs, &outputs, &add, &rectify)) return NULL;
    Py_ssize_t wide = (outputs + LANES - 1) / LANES * LANES, rows = inputs > 0 ? x.len / 4 / inputs : 0;
    int good = inputs > 0 && outputs > 0 && rows < 1 << 30 && x.len == 4 * rows * inputs && weights.len == 4 * wide * inputs &&
               bias.len == 4 * wide && out.len == 4 * rows * outputs && able();
#if BUILT
    if (good) {
        Product p = {x.buf, weights.buf, bias.buf, out.buf, (int)rows, inputs, outputs, add, rectify};
        Py_BEGIN_ALLOW_THREADS;
        product(&p);
        Py_END_ALLOW_THREADS;
    }
#endif
    Py_buffer *all[] = {&x, &weights, &bias, &out};
    for (int i = 0; i < 4; i++) PyBuffer_Release(all[i]);
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "rows, weights and processor do not fit");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"able", py_able, METH_NOARGS, "Whether the processor has what the kernel needs."},
    {"product", py_product, METH_VARARGS, "Rows through a fully connected layer."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_dense", NULL, -1, methods};

PyMODINIT_FUNC PyInit__dense(void) { return PyModule_Create(&module); }
