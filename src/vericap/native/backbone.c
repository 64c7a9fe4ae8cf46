/* The image backbone in 8-bit arithmetic: EfficientNet-lite, one photo at a time.
 *
 * The same sums as ONNX Runtime's QLinearConv and QLinearAdd make of the same file, faster: depthwise convolutions take
 * four neighbours in one instruction, and nothing is copied between layers. All sums are of integers and every rounding
 * is one multiplication, so that processors agree. vericap/vision/backbone.py packs the weights; where there is neither
 * AVX2 nor AVX-512 with 8-bit dot products, ONNX Runtime serves.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#define BUILT 1
#include <immintrin.h>
#else
#define BUILT 0
#endif

typedef struct {
    int in, out, zero;
    const int8_t *weights;
    const int32_t *bias;
    const float *scale;
    float ratio, own_ratio, fixed; /* of the sum with what is skipped over: its terms' scales over its own */
} Layer;

typedef struct {
    int side, out, width, kernel, stride, pad, held;
} Shape;

typedef void (*Pointwise)(const Layer *, const uint8_t *, int, int, uint8_t *, int, const uint8_t *);
typedef void (*Depthwise)(const Layer *, const uint8_t *, Shape, int, int, uint8_t *, uint8_t *);

#if BUILT
/* EACH: the vectors of a row; SUMS: four of them, as arguments; ROWS: the rows of a tile of n vectors. */
#define SUMS1(r) s##r##0, s##r##0, s##r##0, s##r##0
#define SUMS2(r) s##r##0, s##r##1, s##r##0, s##r##0
#define SUMS3(r) s##r##0, s##r##1, s##r##2, s##r##0
#define SUMS4(r) s##r##0, s##r##1, s##r##2, s##r##3
#define EACH1(M, r) M(r, 0)
#define EACH2(M, r) EACH1(M, r) M(r, 1)
#define EACH3(M, r) EACH2(M, r) M(r, 2)
#define EACH4(M, r) EACH3(M, r) M(r, 3)
#define ROWS4(M, n) M(0, n) M(1, n) M(2, n) M(3, n)
#define ROWS6(M, n) ROWS4(M, n) M(4, n) M(5, n)
#define ROWS8(M, n) ROWS6(M, n) M(6, n) M(7, n)
#define ROWS12(M, n) ROWS8(M, n) M(8, n) M(9, n) M(10, n) M(11, n)

#define NAME(x) x##_vnni
#define TARGET __attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define LANES 16
#define GROUP 4
#define VEC __m512i
#define VECF __m512
#define ZERO _mm512_setzero_si512()
#define LOAD(p) _mm512_loadu_si512((const void *)(p))
#define LOADF(p) _mm512_loadu_ps(p)
#define SETF(x) _mm512_set1_ps(x)
#define BROADCAST(x) _mm512_set1_epi32(x)
#define DOT(sum, x, w) dot_vnni(sum, x, w)
/* Written out, as GCC copies every sum before and after its own form of this instruction. */
__attribute__((always_inline)) TARGET static inline __m512i dot_vnni(__m512i sum, __m512i x, __m512i w) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
    return sum;
}
#define ADD(x, y) _mm512_add_epi32(x, y)
#define FMA(x, y, z) _mm512_fmadd_ps(x, y, z)
#define MULTIPLY(x, y) _mm512_mul_ps(x, y)
#define TO_FLOAT(x) _mm512_cvtepi32_ps(x)
#define TO_INT(x) _mm512_cvtps_epi32(x)
#define CLAMP(x) _mm512_min_epi32(_mm512_max_epi32(x, _mm512_setzero_si512()), _mm512_set1_epi32(255))
#define BYTES(p) _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(p)))
#define STORE(p, x) _mm_storeu_si128((__m128i *)(p), _mm512_cvtusepi32_epi8(_mm512_max_epi32(x, _mm512_setzero_si512())))
#define STORE_ROW(p, count, v0, v1, v2, v3) store_row_vnni(p, count, v0, v1, v2, v3)
/* Packing interleaves fours of the vectors; one permutation puts them in order. */
__attribute__((always_inline)) TARGET static inline void store_row_vnni(uint8_t *to, int count, __m512i v0, __m512i v1, __m512i v2,
                                                                        __m512i v3) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i bytes = _mm512_packus_epi16(_mm512_packs_epi32(v0, v1), _mm512_packs_epi32(v2, v3));
    bytes = _mm512_permutexvar_epi32(order, bytes);
    if (count == 4) _mm512_storeu_si512((void *)to, bytes);
    else _mm512_mask_storeu_epi8(to, (__mmask64)((1ull << (16 * count)) - 1), bytes);
}
#include "backbone_kernels.h"
#undef NAME
#undef STORE_ROW
#undef TARGET
#undef LANES
#undef GROUP
#undef VEC
#undef VECF
#undef ZERO
#undef LOAD
#undef LOADF
#undef SETF
#undef BROADCAST
#undef DOT
#undef ADD
#undef FMA
#undef MULTIPLY
#undef TO_FLOAT
#undef TO_INT
#undef CLAMP
#undef BYTES
#undef STORE

#define NAME(x) x##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define GROUP 2
#define VEC __m256i
#define VECF __m256
#define ZERO _mm256_setzero_si256()
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define LOADF(p) _mm256_loadu_ps(p)
#define SETF(x) _mm256_set1_ps(x)
#define BROADCAST(x) _mm256_set1_epi32(x)
/* Pairs of products fit into 16 bits, as weights have 7 bits. */
#define DOT(sum, x, w) _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), _mm256_set1_epi16(1)))
#define ADD(x, y) _mm256_add_epi32(x, y)
#define FMA(x, y, z) _mm256_fmadd_ps(x, y, z)
#define MULTIPLY(x, y) _mm256_mul_ps(x, y)
#define TO_FLOAT(x) _mm256_cvtepi32_ps(x)
#define TO_INT(x) _mm256_cvtps_epi32(x)
#define CLAMP(x) _mm256_min_epi32(_mm256_max_epi32(x, _mm256_setzero_si256()), _mm256_set1_epi32(255))
#define BYTES(p) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(p)))
#define STORE(p, x) store_avx2(p, x)
__attribute__((target("avx2,fma"))) static inline void store_avx2(uint8_t *to, __m256i x) {
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storel_epi64((__m128i *)to, _mm_packus_epi16(words, words));
}
#include "backbone_kernels.h"
#endif

static int lanes(void) {
#if BUILT
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return 16;
    if (__builtin_cpu_supports("avx2")) return 8;
#endif
    return 0;
}

/* --- the network -------------------------------------------------------------------------------------------------- */

enum { LAYER = 6, BLOCK = 3 * LAYER + 6 };
enum { FEW = 24, ROWS_AT_ONCE = 8 }; /* maps of a smaller side are made at once: their weights are the larger part */

typedef struct {
    const int32_t *plan;
    const int8_t *weights;
    const int32_t *numbers;
    Pointwise pointwise;
    Depthwise depthwise;
} Network;

/* A layer of the plan: inputs, outputs, zero point, places of its weights, biases and scales. */
static Layer layer(const Network *n, const int32_t *at) {
    Layer found = {at[0], at[1], at[2], n->weights + at[3], n->numbers + at[4], (const float *)(n->numbers + at[5]), 0, 0, 0};
    return found;
}

static int up(int count, int to) { return (count + to - 1) / to * to; }

/* Rows of 3 x 3 pixels x 3 colours (27 numbers and one that counts nothing), then the stem: half the side. */
static void stem(const Network *n, const uint8_t *pixels, int side, int blank, uint8_t *patches, uint8_t *out) {
    Layer l = layer(n, n->plan + 4);
    int half = side / 2, wide = up(l.out, 16);
    for (int y = 0; y < half; y++) {
        for (int x = 0; x < half; x++)
            for (int k = 0; k < 3; k++) {
                uint8_t *to = patches + (size_t)x * 28 + 9 * k;
                int row = 2 * y + k, have = row >= side ? 0 : x + 1 < half ? 9 : 6;
                memcpy(to, pixels + ((size_t)row * side + 2 * x) * 3 * (have > 0), have);
                memset(to + have, blank, 9 - have);
            }
        n->pointwise(&l, patches, 28, half, out + (size_t)y * half * wide, wide, NULL);
    }
}

/* One inverted residual, a few rows at a time, so that the widened map stays in the cache; gives the side of its map. */
static int block(const Network *n, const int32_t *at, int side, const uint8_t *in, uint8_t *out, uint8_t *wide, uint8_t *narrow,
                 uint8_t *scratch) {
    Layer expand = layer(n, at), spread = layer(n, at + LAYER), project = layer(n, at + 2 * LAYER);
    const int32_t *more = at + 3 * LAYER;
    int expands = more[3], skips = more[4];
    int own = up(expand.in, 16), made = up(project.out, 16);
    Shape s = {side, side / more[1], up(spread.out, 32), more[0], more[1], more[2], side};
    int step = s.out < FEW ? s.out : ROWS_AT_ONCE;
    if (expands && s.out >= FEW) s.held = step * s.stride + s.kernel;
    if (skips) {
        const float *sums = (const float *)(n->numbers + more[5]);
        project.ratio = sums[0], project.own_ratio = sums[1], project.fixed = sums[2];
    }
    for (int y = 0, have = 0; y < s.out; y += step) {
        int end = y + step < s.out ? y + step : s.out, need = (end - 1) * s.stride - s.pad + s.kernel;
        if (need > side) need = side;
        while (expands && have < need) {
            int place = have % s.held, rows = s.held - place < need - have ? s.held - place : need - have;
            n->pointwise(&expand, in + (size_t)have * side * own, own, rows * side, wide + (size_t)place * side * s.width, s.width, NULL);
            have += rows;
        }
        n->depthwise(&spread, expands ? wide : in, s, y, end, narrow, scratch);
        size_t done = (size_t)y * s.out;
        n->pointwise(&project, narrow, s.width, (end - y) * s.out, out + done * made, made, skips ? in + done * made : NULL);
    }
    return s.out;
}

/* Bytes as the numbers they stand for, pixels in order. */
static void numbers_of(const uint8_t *map, int count, int channels, int width, const float *scale, float *out) {
    for (int i = 0; i < count; i++)
        for (int c = 0; c < channels; c++) *out++ = ((float)map[(size_t)i * width + c] - scale[1]) * scale[0];
}

typedef struct {
    uint8_t *wide, *narrow, *scratch, *maps[2];
} Space;

static void forward(const Network *n, const uint8_t *pixels, int side, Space s, float *out, float *middle, float *last) {
    const int32_t *plan = n->plan, *head = plan + 10;
    int blocks = plan[0], seam = plan[1], size = side / 2, now = 0, channels = 0;
    const float *scales = (const float *)(n->numbers + plan[3]); /* head, seam, last block: scale and zero point */
    stem(n, pixels, side, plan[2], s.scratch, s.maps[0]);
    for (int b = 0; b < blocks; b++, now ^= 1) {
        const int32_t *at = plan + 16 + b * BLOCK;
        size = block(n, at, size, s.maps[now], s.maps[now ^ 1], s.wide, s.narrow, s.scratch);
        channels = at[2 * LAYER + 1];
        if (middle && b == seam - 1) numbers_of(s.maps[now ^ 1], size * size, channels, up(channels, 16), scales + 2, middle);
    }
    if (last) numbers_of(s.maps[now], size * size, channels, up(channels, 16), scales + 4, last);
    Layer top = layer(n, head);
    n->pointwise(&top, s.maps[now], up(channels, 16), size * size, s.wide, up(top.out, 16), NULL);
    numbers_of(s.wide, size * size, top.out, up(top.out, 16), scales, out);
}

/* --- Python ------------------------------------------------------------------------------------------------------- */

static PyObject *py_lanes(PyObject *self, PyObject *none) { return PyLong_FromLong(lanes()); }

/* Bytes of room that `run` needs for maps of these sizes: wide, narrow, scratch and two maps, each on its own line. */
static Space spaces(uint8_t *room, const Py_ssize_t *sizes) {
    uint8_t *at = (uint8_t *)(((uintptr_t)room + 63) & ~(uintptr_t)63);
    Space s;
    s.wide = at, at += sizes[0];
    s.narrow = at, at += sizes[1];
    s.scratch = at, at += sizes[2];
    s.maps[0] = at, at += sizes[3];
    s.maps[1] = at;
    return s;
}

/* run(lanes, plan, weights, numbers, pixels, side, room, sizes of its parts (multiples of 64), out, middle, last)
 * `middle` (after the frozen blocks) and `last` (before the head) may be empty. Sizes are the caller's to get right. */
static PyObject *py_run(PyObject *self, PyObject *args) {
    Py_buffer plan, weights, numbers, pixels, room, out, middle, last;
    Py_ssize_t sizes[4];
    int side, wanted;
    if (!PyArg_ParseTuple(args, "iy*y*y*y*iw*(nnnn)w*w*w*", &wanted, &plan, &weights, &numbers, &pixels, &side, &room, &sizes[0],
                          &sizes[1], &sizes[2], &sizes[3], &out, &middle, &last))
        return NULL;
    int good = side >= 128 && side % 32 == 0 && pixels.len == (Py_ssize_t)side * side * 3 &&
               room.len >= 64 + sizes[0] + sizes[1] + sizes[2] + 2 * sizes[3] && wanted && wanted <= lanes();
#if BUILT
    if (good) {
        Network n = {plan.buf, weights.buf, numbers.buf, wanted == 16 ? pointwise_vnni : pointwise_avx2,
                     wanted == 16 ? depthwise_vnni : depthwise_avx2};
        Space s = spaces(room.buf, sizes);
        Py_BEGIN_ALLOW_THREADS;
        forward(&n, pixels.buf, side, s, out.buf, middle.len ? middle.buf : NULL, last.len ? last.buf : NULL);
        Py_END_ALLOW_THREADS;
    }
#endif
    Py_buffer *all[] = {&plan, &weights, &numbers, &pixels, &room, &out, &middle, &last};
    for (int i = 0; i < 8; i++) PyBuffer_Release(all[i]);
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "pixels, room and processor do not fit the network");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"lanes", py_lanes, METH_NOARGS, "Outputs of one vector: 16 (AVX-512 VNNI), 8 (AVX2), 0 where the kernel cannot run."},
    {"run", py_run, METH_VARARGS, "The backbone's maps of one photo."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_backbone", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__backbone(void) { return PyModule_Create(&module); }
