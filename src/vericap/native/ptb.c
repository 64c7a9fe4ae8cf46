/* The tokeniser's automaton over many texts. Its Python twin is in vericap/text/ptb.py. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

/* ---- distinct tokens: bytes -> number ---- */

typedef struct { uint32_t hash; int32_t number; int64_t start; int32_t length; } Entry;

typedef struct {
    Entry *slots; int64_t size, used;      /* open addressing, size a power of two */
    char *text; int64_t filled, room;      /* all tokens one after the other */
    int64_t *begins; int64_t count, capacity;  /* of numbered tokens, in order */
    int32_t *lengths;
} Words;

static uint32_t hash_bytes(const char *text, int64_t length) {
    uint32_t hash = 2166136261u;
    for (int64_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

static int words_grow(Words *words) {
    int64_t size = words->size * 2;
    Entry *slots = calloc((size_t)size, sizeof(Entry));
    if (!slots) return -1;
    for (int64_t i = 0; i < words->size; i++) {
        if (!words->slots[i].length) continue;
        int64_t place = words->slots[i].hash & (size - 1);
        while (slots[place].length) place = (place + 1) & (size - 1);
        slots[place] = words->slots[i];
    }
    free(words->slots);
    words->slots = slots;
    words->size = size;
    return 0;
}

/* Number of a token; with dropped != 0 a new token gets -1 instead of a number. -2: no memory. */
static int32_t words_number(Words *words, const char *text, int64_t length, int dropped) {
    uint32_t hash = hash_bytes(text, length);
    int64_t place = hash & (words->size - 1);
    while (words->slots[place].length) {
        Entry *found = &words->slots[place];
        if (found->hash == hash && found->length == length
            && !memcmp(words->text + found->start, text, (size_t)length)) return found->number;
        place = (place + 1) & (words->size - 1);
    }
    if (words->filled + length > words->room) {
        int64_t room = (words->filled + length) * 2;
        char *larger = realloc(words->text, (size_t)room);
        if (!larger) return -2;
        words->text = larger;
        words->room = room;
    }
    if (words->count == words->capacity) {
        int64_t capacity = words->capacity * 2;
        int64_t *begins = realloc(words->begins, (size_t)capacity * sizeof(int64_t));
        if (!begins) return -2;
        words->begins = begins;
        int32_t *lengths = realloc(words->lengths, (size_t)capacity * sizeof(int32_t));
        if (!lengths) return -2;
        words->lengths = lengths;
        words->capacity = capacity;
    }
    memcpy(words->text + words->filled, text, (size_t)length);
    int32_t number = dropped ? -1 : (int32_t)words->count;
    words->slots[place] = (Entry){hash, number, words->filled, (int32_t)length};
    if (!dropped) {
        words->begins[words->count] = words->filled;
        words->lengths[words->count++] = (int32_t)length;
    }
    words->filled += length;
    if (++words->used * 2 > words->size && words_grow(words)) return -2;
    return number;
}

static void words_free(Words *words) {
    free(words->slots); free(words->text); free(words->begins); free(words->lengths);
}

static int words_make(Words *words, PyObject *dropped) {
    memset(words, 0, sizeof *words);
    words->size = 1 << 12;
    words->room = 1 << 14;
    words->capacity = 1 << 10;
    words->slots = calloc((size_t)words->size, sizeof(Entry));
    words->text = malloc((size_t)words->room);
    words->begins = malloc((size_t)words->capacity * sizeof(int64_t));
    words->lengths = malloc((size_t)words->capacity * sizeof(int32_t));
    if (!words->slots || !words->text || !words->begins || !words->lengths) { PyErr_NoMemory(); return -1; }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(dropped); i++) {
        Py_ssize_t length;
        const char *text = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(dropped, i), &length);
        if (!text) return -1;
        if (words_number(words, text, length, 1) == -2) { PyErr_NoMemory(); return -1; }
    }
    return 0;
}

static PyObject *words_list(const Words *words) {
    PyObject *list = PyList_New((Py_ssize_t)words->count);
    for (int64_t i = 0; list && i < words->count; i++) {
        PyObject *word = PyUnicode_DecodeUTF8(words->text + words->begins[i], words->lengths[i], "surrogatepass");
        if (!word) { Py_CLEAR(list); break; }
        PyList_SET_ITEM(list, (Py_ssize_t)i, word);
    }
    return list;
}

/* ---- the automaton ---- */

typedef struct {
    const uint8_t *classes;     /* code unit -> class */
    const uint16_t *moves;      /* state * width + class -> state, 0: stop */
    const uint8_t *accepts;     /* state -> rule + 1, 0: none */
    const uint16_t *mains, *aheads;  /* per rule: start states of a rule with a look ahead, 0: none */
    const uint8_t *actions;     /* per rule */
    int width, start;
} Table;

enum { DROP = 0, WORD = 1, ASIS = 2 };

/* Where a rule with a look ahead cuts its match [begin, end): the longest main part whose rest is a look ahead. */
static int64_t cut(const Table *table, const uint16_t *units, int64_t begin, int64_t end, int rule) {
    int64_t best = begin + 1;
    uint32_t state = table->mains[rule];
    for (int64_t place = begin; place < end; place++) {
        state = table->moves[state * table->width + table->classes[units[place]]];
        if (!state) break;
        if (table->accepts[state] != rule + 1) continue;
        uint32_t other = table->aheads[rule];
        for (int64_t next = place + 1; next < end && other; next++)
            other = table->moves[other * table->width + table->classes[units[next]]];
        if (other && table->accepts[other] == rule + 1) best = place + 1;
    }
    return best;
}

typedef struct { int32_t *ids; int64_t count, room; } Numbers;

static int numbers_add(Numbers *numbers, int32_t id) {
    if (numbers->count == numbers->room) {
        int64_t room = numbers->room * 2;
        int32_t *ids = realloc(numbers->ids, (size_t)room * sizeof(int32_t));
        if (!ids) { PyErr_NoMemory(); return -1; }
        numbers->ids = ids;
        numbers->room = room;
    }
    numbers->ids[numbers->count++] = id;
    return 0;
}

/* A token that is not plain ASCII, or not taken as it stands: Python gives its final form. */
static int32_t shaped(Words *words, PyObject *shape, int action, const uint16_t *units, int64_t length) {
    int order = PY_BIG_ENDIAN ? 1 : -1;
    PyObject *text = PyUnicode_DecodeUTF16((const char *)units, length * 2, "surrogatepass", &order);
    if (!text) return -3;
    PyObject *form = PyObject_CallFunction(shape, "iN", action, text);
    if (!form) return -3;
    PyObject *bytes = PyUnicode_AsEncodedString(form, "utf-8", "surrogatepass");
    Py_DECREF(form);
    if (!bytes) return -3;
    int32_t number = PyBytes_GET_SIZE(bytes)
        ? words_number(words, PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes), 0) : -1;
    Py_DECREF(bytes);
    return number;
}

static int scan(const Table *table, const uint16_t *units, int64_t length, int64_t solid, int64_t limit,
                Words *words, Numbers *numbers, PyObject *shape) {
    char small[64];
    for (int64_t begin = 0; begin < length;) {
        uint32_t state = (uint32_t)table->start;
        int64_t end = begin + 1;
        int rule = -1;
        for (int64_t place = begin; place < limit; place++) {
            state = table->moves[state * table->width + table->classes[units[place]]];
            if (!state) break;
            if (table->accepts[state]) { rule = table->accepts[state] - 1; end = place + 1; }
        }
        if (rule >= 0 && table->mains[rule]) end = cut(table, units, begin, end, rule);
        int action = rule < 0 ? DROP : table->actions[rule];
        if (action != DROP) {
            int32_t number;
            int64_t size = (end < solid ? end : solid) - begin, i = 0;
            if (action <= ASIS && size <= (int64_t)sizeof small)
                for (; i < size && units[begin + i] < 128; i++) {
                    char c = (char)units[begin + i];
                    small[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
                }
            if (size < 0) size = 0;
            number = size && i == size ? words_number(words, small, size, 0)
                                       : shaped(words, shape, action, units + begin, size);
            if (number == -3) return -1;
            if (number == -2) { PyErr_NoMemory(); return -1; }
            if (number >= 0 && numbers_add(numbers, number)) return -1;
        }
        begin = end;
    }
    return 0;
}

typedef struct { uint16_t *units; int64_t room; } Line;

/* Append at most `most` code points of a text to the line as UTF-16; returns the new length, -1 on failure. */
static int64_t append(Line *line, int64_t filled, PyObject *text, int64_t most) {
    int64_t length = PyUnicode_GET_LENGTH(text);
    if (length > most) length = most;
    if (filled + 2 * length + 2 > line->room) {
        int64_t room = 2 * (filled + 2 * length + 2);
        uint16_t *units = realloc(line->units, (size_t)room * sizeof(uint16_t));
        if (!units) { PyErr_NoMemory(); return -1; }
        line->units = units;
        line->room = room;
    }
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    for (int64_t i = 0; i < length; i++) {
        Py_UCS4 code = PyUnicode_READ(kind, data, i);
        if (code < 0x10000) line->units[filled++] = (uint16_t)code;
        else {
            line->units[filled++] = (uint16_t)(0xD800 + ((code - 0x10000) >> 10));
            line->units[filled++] = (uint16_t)(0xDC00 + ((code - 0x10000) & 0x3FF));
        }
    }
    return filled;
}

static int tokenize_all(PyObject *texts, const int64_t *following, PyObject *unknown, const Table *table, PyObject *shape,
                        Words *words, Numbers *numbers, int64_t *offsets) {
    Line line = {NULL, 0};
    int failed = 0;
    Py_ssize_t count = PyList_GET_SIZE(texts);
    for (Py_ssize_t i = 0; i < count && !failed; i++) {
        PyObject *text = PyList_GET_ITEM(texts, i);
        PyObject *next = following[i] >= 0 && following[i] < count ? PyList_GET_ITEM(texts, following[i]) : unknown;
        if (!PyUnicode_Check(text) || !PyUnicode_Check(next)) {
            PyErr_SetString(PyExc_TypeError, "texts must be str");
            failed = 1;
            break;
        }
        int64_t length = append(&line, 0, text, INT64_MAX / 8);
        if (length < 0) { failed = 1; break; }
        line.units[length] = '\n';
        int64_t limit = append(&line, length + 1, next, 16);
        int64_t solid = length;  /* the tool strips blanks off a line's end */
        while (solid && Py_UNICODE_ISSPACE(line.units[solid - 1])) solid--;
        failed = limit < 0 || scan(table, line.units, length, solid, limit, words, numbers, shape);
        offsets[i + 1] = numbers->count;
    }
    free(line.units);
    return failed ? -1 : 0;
}

static PyObject *tokenize(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *texts, *unknown, *shape, *dropped, *result = NULL;
    Py_buffer following, classes, moves, accepts, mains, aheads, actions;
    int width, start;
    if (!PyArg_ParseTuple(args, "O!y*O!OO!y*y*y*y*y*y*ii", &PyList_Type, &texts, &following, &PyUnicode_Type,
                          &unknown, &shape, &PyList_Type,
                          &dropped, &classes, &moves, &accepts, &mains, &aheads, &actions, &width, &start)) return NULL;
    Table table = {classes.buf, moves.buf, accepts.buf, mains.buf, aheads.buf, actions.buf, width, start};
    Py_ssize_t count = PyList_GET_SIZE(texts);
    Words words;
    Numbers numbers = {malloc(4096 * sizeof(int32_t)), 0, 4096};
    PyObject *offsets = PyByteArray_FromStringAndSize(NULL, (count + 1) * (Py_ssize_t)sizeof(int64_t));
    int failed = words_make(&words, dropped);
    if (!numbers.ids) { PyErr_NoMemory(); failed = 1; }
    if (following.len != count * (Py_ssize_t)sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "`following` must be as long as `texts`");
        failed = 1;
    }
    if (!failed && offsets) {
        int64_t *bounds = (int64_t *)PyByteArray_AS_STRING(offsets);
        bounds[0] = 0;
        if (!tokenize_all(texts, following.buf, unknown, &table, shape, &words, &numbers, bounds)) {
            PyObject *list = words_list(&words);
            PyObject *ids = PyByteArray_FromStringAndSize((char *)numbers.ids, numbers.count * (Py_ssize_t)sizeof(int32_t));
            if (list && ids) result = PyTuple_Pack(3, list, offsets, ids);
            Py_XDECREF(list);
            Py_XDECREF(ids);
        }
    }
    Py_XDECREF(offsets);
    free(numbers.ids);
    words_free(&words);
    PyBuffer_Release(&following); PyBuffer_Release(&classes); PyBuffer_Release(&moves); PyBuffer_Release(&accepts);
    PyBuffer_Release(&mains); PyBuffer_Release(&aheads); PyBuffer_Release(&actions);
    return result;
}

static PyMethodDef methods[] = {
    {"tokenize", tokenize, METH_VARARGS, "Run the automaton over texts; returns vocabulary, offsets, ids."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_ptb", "The tokeniser's automaton.", -1, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__ptb(void) { return PyModule_Create(&module); }
