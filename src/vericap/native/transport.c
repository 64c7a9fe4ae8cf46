/* Exact optimal transport for many small problems, with their cost matrices.
 *
 * A problem moves masses a (m of them) onto masses b (n) at least cost. It is solved by successive shortest
 * paths with node potentials: while mass is left, Dijkstra on reduced costs finds the cheapest way from a source
 * with mass to a sink with room, and as much as fits is sent. Plain arrays in, plain arrays out; the twin in
 * Python is vericap/text/transport_python.py.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double *flow, *potential, *distance, *supply, *demand;
    int *parent;
    char *done;
    int nodes;
    Py_ssize_t cells;
} Space;

static void space_free(Space *s) {
    free(s->flow);
    free(s->potential);
    free(s->parent);
    free(s->done);
    memset(s, 0, sizeof *s);
}

/* Room for a problem of m x n; kept between problems. */
static int space_grow(Space *s, int m, int n) {
    if ((Py_ssize_t)m * n > s->cells) {
        free(s->flow);
        s->cells = (Py_ssize_t)m * n;
        s->flow = malloc(sizeof(double) * s->cells);
    }
    if (m + n > s->nodes) {
        free(s->potential);
        free(s->parent);
        free(s->done);
        s->nodes = m + n;
        s->potential = malloc(sizeof(double) * 4 * s->nodes);
        s->parent = malloc(sizeof(int) * s->nodes);
        s->done = malloc(s->nodes);
    }
    if (!s->flow || !s->potential || !s->parent || !s->done) return -1;
    s->distance = s->potential + s->nodes;
    s->supply = s->distance + s->nodes;
    s->demand = s->supply + s->nodes;
    return 0;
}

/* Reach further sinks from source i, which lies at distance `near`. */
static void reach(const double *cost, int i, int m, int n, double near, Space *s) {
    const double *row = cost + (Py_ssize_t)i * n, *height = s->potential + m;
    double base = near + s->potential[i], *distance = s->distance + m;
    s->done[i] = 1;
    s->distance[i] = near;
    for (int j = 0; j < n; j++) {
        double there = base + row[j] - height[j];
        if (there < distance[j] && !s->done[m + j]) {
            distance[j] = there > near ? there : near; /* never below: rounding only */
            s->parent[m + j] = i;
        }
    }
}

/* Cheapest way from any source with mass to a sink with room; that sink, or -1. Updates the potentials.
 *
 * An edge that carries mass has reduced cost 0, so a full sink passes its distance on to the sources that fill it,
 * and only sinks need a queue. */
static int shortest(const double *cost, int m, int n, double eps, Space *s) {
    int total = m + n, goal = -1;
    memset(s->done, 0, total);
    for (int v = 0; v < total; v++) s->distance[v] = DBL_MAX;
    for (int i = 0; i < m; i++)
        if (s->supply[i] > eps) {
            s->parent[i] = -1;
            reach(cost, i, m, n, 0.0, s);
        }
    while (goal < 0) {
        int best = -1;
        double near = DBL_MAX;
        for (int v = m; v < total; v++)
            if (!s->done[v] && s->distance[v] < near) {
                near = s->distance[v];
                best = v;
            }
        if (best < 0) return -1;
        s->done[best] = 1;
        if (s->demand[best - m] > eps)
            goal = best;
        else
            for (int i = 0; i < m; i++)
                if (!s->done[i] && s->flow[(Py_ssize_t)i * n + best - m] > 0.0) {
                    s->parent[i] = best;
                    reach(cost, i, m, n, near, s);
                }
    }
    double far = s->distance[goal];
    for (int v = 0; v < total; v++)
        if (s->done[v]) s->potential[v] += s->distance[v] - far;
    return goal;
}

/* As much as fits along the way that ends in `goal`. */
static void send(int goal, int m, int n, double eps, Space *s) {
    double amount = s->demand[goal - m];
    int v = goal;
    for (int from; (from = s->parent[v]) >= 0; v = from)
        if (v < m) { /* an edge walked backwards: from is a sink */
            double there = s->flow[(Py_ssize_t)v * n + (from - m)];
            if (there < amount) amount = there;
        }
    if (s->supply[v] < amount) amount = s->supply[v];
    s->supply[v] -= amount;
    if (s->supply[v] <= eps) s->supply[v] = 0.0;
    s->demand[goal - m] -= amount;
    if (s->demand[goal - m] <= eps) s->demand[goal - m] = 0.0;
    v = goal;
    for (int from; (from = s->parent[v]) >= 0; v = from)
        if (v < m) {
            double *cell = s->flow + (Py_ssize_t)v * n + (from - m);
            *cell -= amount;
            if (*cell <= eps) *cell = 0.0;
        } else {
            s->flow[(Py_ssize_t)from * n + (v - m)] += amount;
        }
}

/* Least cost of moving a onto b; the plan is left in s->flow. Negative: no solution in the allowed steps. */
static double solve(const double *cost, const double *a, const double *b, int m, int n, Space *s) {
    double mass = 0.0, value = 0.0;
    if (space_grow(s, m, n) < 0) return -2.0;
    memset(s->flow, 0, sizeof(double) * m * n);
    for (int i = 0; i < m; i++) mass += s->supply[i] = a[i];
    if (m == 1 || n == 1) { /* one way only */
        for (Py_ssize_t c = 0; c < (Py_ssize_t)m * n; c++) {
            s->flow[c] = m == 1 ? b[c] : a[c];
            value += s->flow[c] * cost[c];
        }
        return value;
    }
    for (int j = 0; j < n; j++) s->demand[j] = b[j];
    memset(s->potential, 0, sizeof(double) * (m + n));
    double eps = 1e-14 * mass;
    /* Start from the cheapest source of every sink: with the sink's potential at that cost all reduced costs are
     * at least 0 and these edges are at 0, so what they carry is part of an optimal plan so far. */
    for (int j = 0; j < n; j++) {
        int near = 0;
        for (int i = 1; i < m; i++)
            if (cost[(Py_ssize_t)i * n + j] < cost[(Py_ssize_t)near * n + j]) near = i;
        s->potential[m + j] = cost[(Py_ssize_t)near * n + j];
        double amount = s->supply[near] < s->demand[j] ? s->supply[near] : s->demand[j];
        s->flow[(Py_ssize_t)near * n + j] = amount;
        s->supply[near] -= amount;
        s->demand[j] -= amount;
        if (s->supply[near] <= eps) s->supply[near] = 0.0;
        if (s->demand[j] <= eps) s->demand[j] = 0.0;
    }
    long limit = 64L * (m + n) * (m + n);
    for (;;) {
        double left = 0.0, room = 0.0;
        for (int i = 0; i < m; i++) left += s->supply[i];
        for (int j = 0; j < n; j++) room += s->demand[j];
        if (left <= 1e-12 * mass || room <= 1e-12 * mass) break;
        if (limit-- <= 0) return -1.0;
        int goal = shortest(cost, m, n, eps, s);
        if (goal < 0) break;
        send(goal, m, n, eps, s);
    }
    for (Py_ssize_t c = 0; c < (Py_ssize_t)m * n; c++) value += s->flow[c] * cost[c];
    return value;
}

#define LANES 16

/* Two builds of the hot loops where the compiler can choose by processor at load time; the sums are the same. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define BY_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define BY_PROCESSOR
#endif

BY_PROCESSOR
static double plain_distance(const float *x, const float *y, Py_ssize_t d) {
    float lanes[LANES] = {0};
    double total = 0.0;
    Py_ssize_t k = 0;
    for (; k + LANES <= d; k += LANES)
        for (int l = 0; l < LANES; l++) {
            float diff = x[k + l] - y[k + l];
            lanes[l] += diff * diff;
        }
    for (; k < d; k++) {
        float diff = x[k] - y[k];
        total += (double)diff * diff;
    }
    for (int l = 0; l < LANES; l++) total += lanes[l];
    return total;
}

BY_PROCESSOR
static double scaled_distance(const float *x, const float *y, float sx, float sy, Py_ssize_t d) {
    float lanes[LANES] = {0};
    double total = 0.0;
    Py_ssize_t k = 0;
    for (; k + LANES <= d; k += LANES)
        for (int l = 0; l < LANES; l++) {
            float diff = sx * x[k + l] - sy * y[k + l];
            lanes[l] += diff * diff;
        }
    for (; k < d; k++) {
        float diff = sx * x[k] - sy * y[k];
        total += (double)diff * diff;
    }
    for (int l = 0; l < LANES; l++) total += lanes[l];
    return total;
}

static double square_distance(const float *x, const float *y, double sx, double sy, Py_ssize_t d) {
    if (sx == 1.0 && sy == 1.0) return plain_distance(x, y, d);
    return scaled_distance(x, y, (float)sx, (float)sy, d);
}

BY_PROCESSOR
static double dot(const float *x, const float *y, Py_ssize_t d) {
    float lanes[LANES] = {0};
    double total = 0.0;
    Py_ssize_t k = 0;
    for (; k + LANES <= d; k += LANES)
        for (int l = 0; l < LANES; l++) lanes[l] += x[k + l] * y[k + l];
    for (; k < d; k++) total += (double)x[k] * y[k];
    for (int l = 0; l < LANES; l++) total += lanes[l];
    return total;
}

/* Buffers of one call, released together. */
typedef struct {
    Py_buffer views[16];
    int count;
} Views;

static void *view(Views *v, PyObject *object, int writable, Py_ssize_t item) {
    Py_buffer *b = &v->views[v->count];
    int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, b, flags) < 0) return NULL;
    v->count++;
    if (b->itemsize != item) {
        PyErr_SetString(PyExc_TypeError, "an array has the wrong item size");
        return NULL;
    }
    return b->buf ? b->buf : (void *)"";
}

static Py_ssize_t length(Views *v, int which) { return v->views[which].len / v->views[which].itemsize; }

static PyObject *finish(Views *v, Space *s, double worst) {
    for (int i = 0; i < v->count; i++) PyBuffer_Release(&v->views[i]);
    if (s) space_free(s);
    if (PyErr_Occurred()) return NULL;
    if (worst == -2.0) return PyErr_NoMemory();
    if (worst < 0.0) {
        PyErr_SetString(PyExc_ArithmeticError, "optimal transport did not end; are the masses finite?");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* solve(cost, a, b, plan): one problem with a given cost matrix (m x n, float64); plan is filled. -> cost */
static PyObject *py_solve(PyObject *self, PyObject *args) {
    PyObject *o[4];
    Views v = {.count = 0};
    Space s = {0};
    double value = -2.0;
    if (!PyArg_ParseTuple(args, "OOOO", &o[0], &o[1], &o[2], &o[3])) return NULL;
    double *cost = view(&v, o[0], 0, 8), *a = cost ? view(&v, o[1], 0, 8) : NULL;
    double *b = a ? view(&v, o[2], 0, 8) : NULL, *plan = b ? view(&v, o[3], 1, 8) : NULL;
    if (plan) {
        int m = (int)length(&v, 1), n = (int)length(&v, 2);
        if (length(&v, 0) != (Py_ssize_t)m * n || length(&v, 3) != (Py_ssize_t)m * n || m < 1 || n < 1)
            PyErr_SetString(PyExc_ValueError, "cost and plan must be m x n for m and n masses");
        else {
            value = solve(cost, a, b, m, n, &s);
            if (value >= 0.0) memcpy(plan, s.flow, sizeof(double) * m * n);
        }
    }
    PyObject *done = finish(&v, &s, value);
    if (!done) return NULL;
    Py_DECREF(done);
    return PyFloat_FromDouble(value);
}

/* distances(vectors, width, p, left_offsets, left_ids, left_weights, left_scales,
 *           right_offsets, right_ids, right_weights, right_scales, out)
 * Problem k moves left words k onto right words k at cost |s_i x_i - s_j x_j|^p. */
static PyObject *py_distances(PyObject *self, PyObject *args) {
    PyObject *o[10];
    Py_ssize_t width;
    double p, worst = 0.0;
    Views v = {.count = 0};
    Space s = {0};
    void *at[10];
    static const Py_ssize_t items[10] = {4, 8, 8, 8, 8, 8, 8, 8, 8, 8};
    if (!PyArg_ParseTuple(args, "OndOOOOOOOOO", &o[0], &width, &p, &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &o[7],
                          &o[8], &o[9]))
        return NULL;
    for (int i = 0; i < 10; i++)
        if (!(at[i] = view(&v, o[i], i == 9, items[i]))) return finish(&v, NULL, 0.0);
    const float *x = at[0];
    const long long *lo = at[1], *li = at[2], *ro = at[5], *ri = at[6];
    const double *lw = at[3], *ls = at[4], *rw = at[7], *rs = at[8];
    double *out = at[9], *cost = NULL;
    Py_ssize_t room = 0, problems = length(&v, 9);
    if (length(&v, 1) != problems + 1 || length(&v, 5) != problems + 1) {
        PyErr_SetString(PyExc_ValueError, "offsets must have one entry more than there are problems");
        return finish(&v, NULL, 0.0);
    }
    Py_BEGIN_ALLOW_THREADS;
    for (Py_ssize_t k = 0; k < problems && worst >= 0.0; k++) {
        Py_ssize_t m = lo[k + 1] - lo[k], n = ro[k + 1] - ro[k];
        if (m < 1 || n < 1) {
            out[k] = NAN;
            continue;
        }
        if (m * n > room) {
            free(cost);
            room = 2 * m * n;
            if (!(cost = malloc(sizeof(double) * room))) {
                worst = -2.0;
                break;
            }
        }
        for (Py_ssize_t i = 0; i < m; i++)
            for (Py_ssize_t j = 0; j < n; j++) {
                Py_ssize_t a = lo[k] + i, b = ro[k] + j;
                double d = square_distance(x + li[a] * width, x + ri[b] * width, ls[a], rs[b], width);
                cost[i * n + j] = p == 2.0 ? d : p == 1.0 ? sqrt(d) : pow(d, p / 2.0);
            }
        out[k] = solve(cost, lw + lo[k], rw + ro[k], (int)m, (int)n, &s);
        if (out[k] < 0.0) worst = out[k];
    }
    free(cost);
    Py_END_ALLOW_THREADS;
    return finish(&v, &s, worst);
}

/* penalties(vectors, width, word_offsets, word_ids, reference_offsets, text_offsets, text_ids, out)
 * rho of every word of sample k: mean over its references r of (1 - max_t cos(x, x_t)) / 2, t the words of r;
 * references without words are passed over, a sample without any keeps rho 1. Unit vectors are expected. */
static PyObject *py_penalties(PyObject *self, PyObject *args) {
    PyObject *o[7];
    Py_ssize_t width;
    Views v = {.count = 0};
    void *at[7];
    static const Py_ssize_t items[7] = {4, 8, 8, 8, 8, 8, 8};
    if (!PyArg_ParseTuple(args, "OnOOOOOO", &o[0], &width, &o[1], &o[2], &o[3], &o[4], &o[5], &o[6])) return NULL;
    for (int i = 0; i < 7; i++)
        if (!(at[i] = view(&v, o[i], i == 6, items[i]))) return finish(&v, NULL, 0.0);
    const float *x = at[0];
    const long long *wo = at[1], *wi = at[2], *ro = at[3], *to = at[4], *ti = at[5];
    double *out = at[6];
    Py_ssize_t samples = length(&v, 1) - 1;
    if (length(&v, 3) != samples + 1 || length(&v, 6) != length(&v, 2)) {
        PyErr_SetString(PyExc_ValueError, "offsets and words do not fit");
        return finish(&v, NULL, 0.0);
    }
    Py_BEGIN_ALLOW_THREADS;
    for (Py_ssize_t k = 0; k < samples; k++)
        for (long long w = wo[k]; w < wo[k + 1]; w++) {
            double total = 0.0;
            int used = 0;
            for (long long r = ro[k]; r < ro[k + 1]; r++) {
                double best = -1.0;
                if (to[r] == to[r + 1]) continue;
                for (long long t = to[r]; t < to[r + 1] && best < 1.0; t++) {
                    /* the same word is at angle 0 exactly, whatever rounding says */
                    double c = ti[t] == wi[w] ? 1.0 : dot(x + wi[w] * width, x + ti[t] * width, width);
                    if (c > best) best = c < 1.0 ? c : 1.0;
                }
                total += (1.0 - best) / 2.0;
                used++;
            }
            out[w] = used ? total / used : 1.0;
        }
    Py_END_ALLOW_THREADS;
    return finish(&v, NULL, 0.0);
}

static PyMethodDef methods[] = {
    {"solve", py_solve, METH_VARARGS, "Least transport cost of one problem; fills the plan."},
    {"distances", py_distances, METH_VARARGS, "Transport cost of many problems between bags of words."},
    {"penalties", py_penalties, METH_VARARGS, "VIFIDEL's penalty rho of every word."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_transport", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__transport(void) { return PyModule_Create(&module); }
