/* The two convolutions of the backbone for one kind of processor; included once for each (see backbone.c).
 *
 * Before inclusion: NAME(x) names a function, TARGET is its attribute, and for 4-byte lanes VEC, LANES, GROUP (vectors
 * of outputs computed together) with the operations ZERO, LOAD, BROADCAST, DOT (add four products u8 * s8 to every
 * lane), REQUANTISE and STORE.
 */
#define INLINE static inline __attribute__((always_inline)) TARGET

/* Sums of a tile are variables of their own, r rows x v vectors of them: an array would not stay in registers. */
#define DECLARE(r, v) VEC s##r##v = LOAD(l->bias + at + v * LANES);
#define READ(r, v) VEC b##v = LOAD(w + v * LANES * 4);
#define STEP(r, v) s##r##v = DOT(s##r##v, x, b##v);
#define WRITE(r, v) NAME(write)(l, s##r##v, at + v * LANES, out + (size_t)r * out_width, skip ? skip + (size_t)r * out_width : NULL);
#define DECLARE_ROW(r, n) EACH##n(DECLARE, r)
#define STEP_ROW(r, n) { VEC x = NAME(four)(a + (size_t)r * width + k); EACH##n(STEP, r) }
#define SKIP_ROW(r, n) EACH##n(WRITE, r)
#ifdef STORE_ROW
#define WRITE_ROW(r, n) NAME(write_row)(l, n, SUMS##n(r), at, out + (size_t)r * out_width);
#else
#define WRITE_ROW(r, n) SKIP_ROW(r, n)
#endif
#define TILE(rows, vectors) \
    TARGET static void NAME(tile##rows##x##vectors)(const Layer *l, const uint8_t *a, int width, const int8_t *w, int at, \
                                                    uint8_t *out, int out_width, const uint8_t *skip) { \
        ROWS##rows(DECLARE_ROW, vectors) \
        for (int k = 0; k < l->in; k += 4, w += vectors * LANES * 4) { \
            EACH##vectors(READ, 0) \
            ROWS##rows(STEP_ROW, vectors) \
        } \
        if (skip) { ROWS##rows(SKIP_ROW, vectors) } \
        else { ROWS##rows(WRITE_ROW, vectors) } \
    }

/* Four bytes of a pixel in every lane. */
INLINE VEC NAME(four)(const uint8_t *a) {
    int32_t bytes;
    memcpy(&bytes, a, 4);
    return BROADCAST(bytes);
}

/* A vector of sums, rounded and, where a block skips, added to what it skips over. */
INLINE void NAME(write)(const Layer *l, VEC sum, int at, uint8_t *out, const uint8_t *skip) {
    VEC value = TO_INT(MULTIPLY(TO_FLOAT(sum), LOADF(l->scale + at)));
    if (l->zero) value = ADD(value, BROADCAST(l->zero));
    if (skip) {
        VECF other = FMA(TO_FLOAT(BYTES(skip + at)), SETF(l->ratio), SETF(l->fixed));
        value = TO_INT(FMA(TO_FLOAT(CLAMP(value)), SETF(l->own_ratio), other));
    }
    STORE(out + at, value);
}

#ifdef STORE_ROW
/* All vectors of a row, rounded and packed together: `count` of them are written. */
INLINE void NAME(write_row)(const Layer *l, int count, VEC s0, VEC s1, VEC s2, VEC s3, int at, uint8_t *out) {
    const float *scale = l->scale + at;
    VEC zero = BROADCAST(l->zero);
    VEC v0 = ADD(TO_INT(MULTIPLY(TO_FLOAT(s0), LOADF(scale))), zero), v1 = v0, v2 = v0, v3 = v0;
    if (count > 1) v1 = ADD(TO_INT(MULTIPLY(TO_FLOAT(s1), LOADF(scale + LANES))), zero);
    if (count > 2) v2 = ADD(TO_INT(MULTIPLY(TO_FLOAT(s2), LOADF(scale + 2 * LANES))), zero);
    if (count > 3) v3 = ADD(TO_INT(MULTIPLY(TO_FLOAT(s3), LOADF(scale + 3 * LANES))), zero);
    STORE_ROW(out + at, count, v0, v1, v2, v3);
}
#endif

#if GROUP == 4
TILE(12, 1)
TILE(12, 2)
TILE(8, 3)
TILE(6, 4)
#else
TILE(6, 1)
TILE(4, 2)
#endif

typedef void (*NAME(Tile))(const Layer *, const uint8_t *, int, const int8_t *, int, uint8_t *, int, const uint8_t *);

/* A 1 x 1 convolution of `count` pixels; `skip`, if any, is added. The last tile of a group of outputs reaches back over
 * pixels that are done: the same values again. */
TARGET static void NAME(pointwise)(const Layer *l, const uint8_t *a, int width, int count, uint8_t *out, int out_width,
                                   const uint8_t *skip) {
#if GROUP == 4
    static const NAME(Tile) tiles[] = {NAME(tile12x1), NAME(tile12x2), NAME(tile8x3), NAME(tile6x4)};
    static const int rows[] = {12, 12, 8, 6};
#else
    static const NAME(Tile) tiles[] = {NAME(tile6x1), NAME(tile4x2)};
    static const int rows[] = {6, 4};
#endif
    int vectors = (l->out + LANES - 1) / LANES, groups = (vectors + GROUP - 1) / GROUP;
    const int8_t *w = l->weights;
    for (int g = 0, at = 0; g < groups; g++) {
        int size = vectors / groups + (g < vectors % groups), step = rows[size - 1];
        for (int first = 0; first < count; first += step) {
            size_t row = first + step <= count ? first : count - step;
            tiles[size - 1](l, a + row * width, width, w, at, out + row * out_width, out_width,
                            skip ? skip + row * out_width : NULL);
        }
        at += size * LANES;
        w += (size_t)size * LANES * l->in;
    }
}

/* --- depthwise convolutions, 32 channels at a time ------------------------------------------------------------------ */

INLINE __m256i NAME(pixel)(const uint8_t *row, int at, int pixels, int width) {
    return at < 0 || at >= pixels ? _mm256_setzero_si256() : _mm256_loadu_si256((const __m256i *)(row + (ptrdiff_t)at * width));
}

/* Four neighbours of every channel side by side, as DOT takes them. */
#if GROUP == 4
INLINE void NAME(four_pixels)(__m256i a, __m256i b, __m256i c, __m256i d, uint8_t *to) {
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 23, 7, 22, 6, 21, 5, 20, 4, 27, 11, 26, 10, 25, 9, 24, 8,
                                           19, 3, 18, 2, 17, 1, 16, 0);
    __m512i even = _mm512_inserti64x4(_mm512_castsi256_si512(a), c, 1), odd = _mm512_inserti64x4(_mm512_castsi256_si512(b), d, 1);
    _mm512_storeu_si512((void *)to, _mm512_permutexvar_epi16(order, _mm512_unpacklo_epi8(even, odd)));
    _mm512_storeu_si512((void *)(to + 64), _mm512_permutexvar_epi16(order, _mm512_unpackhi_epi8(even, odd)));
}
#else
INLINE void NAME(four_pixels)(__m256i a, __m256i b, __m256i c, __m256i d, uint8_t *to) {
    __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
    __m256i low2 = _mm256_unpacklo_epi8(c, d), high2 = _mm256_unpackhi_epi8(c, d);
    _mm256_store_si256((__m256i *)to, _mm256_unpacklo_epi16(low, low2));
    _mm256_store_si256((__m256i *)(to + 32), _mm256_unpackhi_epi16(low, low2));
    _mm256_store_si256((__m256i *)(to + 64), _mm256_unpacklo_epi16(high, high2));
    _mm256_store_si256((__m256i *)(to + 96), _mm256_unpackhi_epi16(high, high2));
}
#endif
#define AT(k) _mm256_loadu_si256((const __m256i *)(row + (ptrdiff_t)(at + k) * width))
#define EDGE(k) NAME(pixel)(row, at + k, pixels, width)
TARGET static void NAME(interleave)(const uint8_t *row, int pixels, int width, int stride, int pad, int count, uint8_t *to) {
    for (int i = 0, at = -pad; i < count; i++, at += stride, to += 128) {
        if (at >= 0 && at + 3 < pixels) NAME(four_pixels)(AT(0), AT(1), AT(2), AT(3), to);
        else NAME(four_pixels)(EDGE(0), EDGE(1), EDGE(2), EDGE(3), to);
    }
}

#if GROUP == 4
/* Vectors of 16 channels, two of them side by side in what was interleaved. */
#define BOTH(at, apart) _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(at))), \
                                           _mm256_loadu_si256((const __m256i *)((at) + (apart))), 1)
#define WEIGHTS(n, k, apart) const __m512i n##a = BOTH(w + 32 * (k), apart), n##b = BOTH(w + 2 * (apart) + 32 * (k), apart);
#define TAKE(row, place, weights) { \
    const uint8_t *own = row + 128 * (size_t)(place); \
    a = DOT(a, LOAD(own), weights##a), b = DOT(b, LOAD(own + 64), weights##b); \
}
#define CONSTANTS \
    const __m512 scale_a = LOADF(l->scale + c), scale_b = LOADF(l->scale + c + 16); \
    const __m512i bias_a = LOAD(l->bias + c), bias_b = LOAD(l->bias + c + 16), zero = BROADCAST(l->zero);
/* Sums of 32 channels as bytes; packing undoes the order that interleaving made. */
INLINE void NAME(write_pixel)(__m512i a, __m512i b, uint8_t *out) {
    __m512i words = _mm512_packs_epi32(a, b);
    __m256i bytes = _mm256_packus_epi16(_mm512_castsi512_si256(words), _mm512_extracti64x4_epi64(words, 1));
    _mm256_storeu_si256((__m256i *)out, _mm256_shuffle_epi32(bytes, _MM_SHUFFLE(3, 1, 2, 0)));
}
#define WRITE_PIXEL NAME(write_pixel)(ADD(TO_INT(MULTIPLY(TO_FLOAT(a), scale_a)), zero), ADD(TO_INT(MULTIPLY(TO_FLOAT(b), scale_b)), zero), out);

/* One output row of a 3 x 3 convolution; `rows` are interleaved input rows. */
TARGET static void NAME(row3)(const Layer *l, int c, const uint8_t **rows, int shift, int count, int32_t *sums, uint8_t *out, int width) {
    const uint8_t *r0 = rows[0], *r1 = rows[1], *r2 = rows[2];
    const int8_t *w = l->weights + (size_t)c * 12;
    CONSTANTS
    WEIGHTS(w0, 0, 96) WEIGHTS(w1, 1, 96) WEIGHTS(w2, 2, 96)
    for (int x = 0; x < count; x++, out += width) {
        __m512i a = bias_a, b = bias_b;
        TAKE(r0, x, w0) TAKE(r1, x, w1) TAKE(r2, x, w2)
        WRITE_PIXEL
    }
}

/* Of a 5 x 5 convolution: four neighbours, and the fifth. */
TARGET static void NAME(row5)(const Layer *l, int c, const uint8_t **rows, int shift, int count, int32_t *sums, uint8_t *out, int width) {
    const uint8_t *r0 = rows[0], *r1 = rows[1], *r2 = rows[2], *r3 = rows[3], *r4 = rows[4];
    const int8_t *w = l->weights + (size_t)c * 40;
    CONSTANTS
    WEIGHTS(w0, 0, 320) WEIGHTS(w1, 1, 320) WEIGHTS(w2, 2, 320) WEIGHTS(w3, 3, 320) WEIGHTS(w4, 4, 320)
    WEIGHTS(w5, 5, 320) WEIGHTS(w6, 6, 320) WEIGHTS(w7, 7, 320) WEIGHTS(w8, 8, 320) WEIGHTS(w9, 9, 320)
    for (int x = 0; x < count; x++, out += width) {
        __m512i a = bias_a, b = bias_b;
        TAKE(r0, x, w0) TAKE(r1, x, w2) TAKE(r2, x, w4) TAKE(r3, x, w6) TAKE(r4, x, w8)
        __m512i first_a = a, first_b = b; /* two chains: each sum waits for the one before */
        a = b = ZERO;
        TAKE(r0, x + shift, w1) TAKE(r1, x + shift, w3) TAKE(r2, x + shift, w5) TAKE(r3, x + shift, w7) TAKE(r4, x + shift, w9)
        a = ADD(a, first_a), b = ADD(b, first_b);
        WRITE_PIXEL
    }
}
#undef BOTH
#undef WRITE_PIXEL
#else
#define ROUNDED(sum, j) _mm256_add_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale##j)), zero)
/* Sums of 32 channels as bytes; packing undoes the order that interleaving made. */
#define PACKED(s0, s1, s2, s3) _mm256_packus_epi16(_mm256_packs_epi32(ROUNDED(s0, 0), ROUNDED(s1, 1)), \
                                                   _mm256_packs_epi32(ROUNDED(s2, 2), ROUNDED(s3, 3)))
#define CONSTANTS \
    const __m256 scale0 = _mm256_loadu_ps(l->scale + c), scale1 = _mm256_loadu_ps(l->scale + c + 8), \
                 scale2 = _mm256_loadu_ps(l->scale + c + 16), scale3 = _mm256_loadu_ps(l->scale + c + 24); \
    const __m256i zero = _mm256_set1_epi32(l->zero);
#define BIAS(j) _mm256_loadu_si256((const __m256i *)(l->bias + c + 8 * j))
#define WEIGHTS(n, k) __m256i n = _mm256_loadu_si256((const __m256i *)(w + 32 * (k)));
#define TAKE(row, place, weights) sum = DOT(sum, _mm256_load_si256((const __m256i *)(row + 128 * (size_t)(place))), weights);

/* One output row of a 3 x 3 convolution; `rows` are interleaved input rows. */
#define WEIGHTS3(j) WEIGHTS(w##j##0, 3 * j) WEIGHTS(w##j##1, 3 * j + 1) WEIGHTS(w##j##2, 3 * j + 2) __m256i bias##j = BIAS(j);
#define SUM3(j) __m256i s##j; { \
    __m256i sum = bias##j; \
    TAKE(r0 + 32 * j, x, w##j##0) TAKE(r1 + 32 * j, x, w##j##1) TAKE(r2 + 32 * j, x, w##j##2) \
    s##j = sum; \
}
TARGET static void NAME(row3)(const Layer *l, int c, const uint8_t **rows, int shift, int count, int32_t *sums, uint8_t *out, int width) {
    const uint8_t *r0 = rows[0], *r1 = rows[1], *r2 = rows[2];
    const int8_t *w = l->weights + (size_t)c * 12;
    CONSTANTS
    WEIGHTS3(0) WEIGHTS3(1) WEIGHTS3(2) WEIGHTS3(3)
    for (int x = 0; x < count; x++, out += width) {
        SUM3(0) SUM3(1) SUM3(2) SUM3(3)
        _mm256_storeu_si256((__m256i *)out, PACKED(s0, s1, s2, s3));
    }
}

/* Sums of one output row of a 5 x 5 convolution for 8 channels, whose weights fill the registers. */
TARGET static void NAME(sums5)(const uint8_t **rows, const int8_t *w, __m256i bias, int shift, int count, int32_t *to) {
    const uint8_t *r0 = rows[0], *r1 = rows[1], *r2 = rows[2], *r3 = rows[3], *r4 = rows[4];
    WEIGHTS(w0, 0) WEIGHTS(w1, 1) WEIGHTS(w2, 2) WEIGHTS(w3, 3) WEIGHTS(w4, 4)
    WEIGHTS(w5, 5) WEIGHTS(w6, 6) WEIGHTS(w7, 7) WEIGHTS(w8, 8) WEIGHTS(w9, 9)
    for (int x = 0; x < count; x++, to += 32) {
        __m256i sum = bias;
        TAKE(r0, x, w0) TAKE(r1, x, w2) TAKE(r2, x, w4) TAKE(r3, x, w6) TAKE(r4, x, w8)
        __m256i first = sum; /* two chains: each sum waits for the one before */
        sum = _mm256_setzero_si256();
        TAKE(r0, x + shift, w1) TAKE(r1, x + shift, w3) TAKE(r2, x + shift, w5) TAKE(r3, x + shift, w7) TAKE(r4, x + shift, w9)
        _mm256_store_si256((__m256i *)to, _mm256_add_epi32(first, sum));
    }
}

TARGET static void NAME(row5)(const Layer *l, int c, const uint8_t **rows, int shift, int count, int32_t *sums, uint8_t *out, int width) {
    for (int j = 0; j < 4; j++) {
        const uint8_t *own[5];
        for (int k = 0; k < 5; k++) own[k] = rows[k] + 32 * j;
        NAME(sums5)(own, l->weights + (size_t)c * 40 + 320 * j, BIAS(j), shift, count, sums + 8 * j);
    }
    CONSTANTS
    for (int x = 0; x < count; x++, sums += 32, out += width) {
        const __m256i *s = (const __m256i *)sums;
        _mm256_storeu_si256((__m256i *)out, PACKED(s[0], s[1], s[2], s[3]));
    }
}
#endif

/* Depthwise convolution of output rows first..end. Pixels have s.width channels, a multiple of 32, and zero point 0; the
 * input holds its last s.held rows, each at its number modulo s.held. */
TARGET static void NAME(depthwise)(const Layer *l, const uint8_t *in, Shape s, int first, int end, uint8_t *out, uint8_t *scratch) {
    int shift = 4 / s.stride, positions = s.out + (s.kernel > 4 ? shift : 0);
    size_t size = (size_t)positions * 128;
    uint8_t *nothing = scratch + (size_t)s.out * 128, *kept = nothing + size;
    memset(nothing, 0, size);
    for (int c = 0; c < s.width; c += 32)
        for (int y = first, next = 0; y < end; y++) {
            const uint8_t *rows[5];
            for (int k = 0; k < s.kernel; k++) {
                int from = y * s.stride - s.pad + k;
                int outside = from < 0 || from >= s.side;
                uint8_t *there = kept + (size_t)((from + s.kernel) % s.kernel) * size;
                rows[k] = outside ? nothing : there;
                if (outside || from < next) continue;
                const uint8_t *row = in + (size_t)(from % s.held) * s.side * s.width + c;
                NAME(interleave)(row, s.side, s.width, s.stride, s.pad, positions, there);
                next = from + 1;
            }
            uint8_t *to = out + (size_t)(y - first) * s.out * s.width + c;
            (s.kernel == 3 ? NAME(row3) : NAME(row5))(l, c, rows, shift, s.out, (int32_t *)scratch, to, s.width);
        }
}

#undef DECLARE
#undef READ
#undef STEP
#undef WRITE
#undef DECLARE_ROW
#undef STEP_ROW
#undef WRITE_ROW
#undef SKIP_ROW
#undef TILE
#undef AT
#undef EDGE
#undef ROUNDED
#undef PACKED
#undef CONSTANTS
#undef BIAS
#undef WEIGHTS
#undef TAKE
#undef WEIGHTS3
#undef SUM3
#undef INLINE
