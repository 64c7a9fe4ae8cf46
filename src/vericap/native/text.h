/* N-grams of texts: what text.c, ngrams.c and cider.c share. */

#ifndef VERICAP_TEXT_H
#define VERICAP_TEXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 8 }; /* most orders a caller may ask for */

/* N-grams of texts. The n-gram that begins at token i is row[n - 1][i]; text t has the tokens
   bounds[t] .. bounds[t + 1] - 1, and so many n-grams less n - 1. */
typedef struct { const int32_t *row[ORDERS]; const int64_t *bounds; int64_t tokens, texts; int orders; } Table;

static inline int64_t text_length(const Table *table, int64_t text)
{
    return table->bounds[text + 1] - table->bounds[text];
}

static inline const int32_t *text_grams(const Table *table, int64_t text, int order)
{
    return table->row[order] + table->bounds[text];
}

/* Words (1-grams) and longer n-grams, row after row, in two buffers; -1 with an error set where they do not fit. */
static inline int table_make(Table *table, const Py_buffer *words, const Py_buffer *longer, const Py_buffer *bounds,
                             int orders)
{
    if (orders < 1 || orders > ORDERS || longer->len != (orders - 1) * words->len) {
        PyErr_SetString(PyExc_ValueError, "n-grams of each order must be as many as words");
        return -1;
    }
    table->tokens = words->len / 4;
    table->texts = bounds->len / 8 - 1;
    table->bounds = bounds->buf;
    table->orders = orders;
    table->row[0] = words->buf;
    for (int n = 1; n < orders; n++)
        table->row[n] = (const int32_t *)longer->buf + (n - 1) * table->tokens;
    return 0;
}

/* The end of every kernel: None, or the error that is set, or that memory lacked. */
static inline PyObject *done(Py_buffer *buffers, int count, int failed)
{
    for (int i = 0; i < count; i++)
        PyBuffer_Release(&buffers[i]);
    if (PyErr_Occurred())
        return NULL;
    if (failed)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* ngrams.c */
PyObject *text_ngrams(PyObject *self, PyObject *args);

/* cider.c */
PyObject *text_documents(PyObject *self, PyObject *args);
PyObject *text_cosines(PyObject *self, PyObject *args);

#endif
