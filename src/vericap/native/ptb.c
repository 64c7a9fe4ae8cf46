/* The tokeniser's automaton over many texts. Its Python twin is in vericap/text/ptb.py. */
#include "ptb_words.h"

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

typedef struct { PyObject *bytes; int64_t count, room; } Numbers; /* ids in a bytearray, which is handed over */

static int numbers_add(Numbers *numbers, int32_t id) {
    if (numbers->count == numbers->room) {
        int64_t room = numbers->room * 2;
        if (PyByteArray_Resize(numbers->bytes, (Py_ssize_t)(room * (int64_t)sizeof(int32_t)))) return -1;
        numbers->room = room;
    }
    ((int32_t *)PyByteArray_AS_STRING(numbers->bytes))[numbers->count++] = id;
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

typedef struct {
    const uint16_t *units;           /* a text, a new line, the beginning of the next text */
    int64_t length, solid, limit;    /* of the text; without blanks at its end; of all */
    int64_t reach;                   /* how far the automaton has looked */
} Units;

/* Number the token that begins at a place; returns where the next one begins, -1 on failure. */
static int64_t step(const Table *table, Units *line, int64_t begin, Words *words, Numbers *numbers, PyObject *shape) {
    const uint16_t *units = line->units;
    uint32_t state = (uint32_t)table->start;
    int64_t end = begin + 1, place = begin;
    int rule = -1;
    for (; place < line->limit; place++) {
        state = table->moves[state * table->width + table->classes[units[place]]];
        if (!state) break;
        if (table->accepts[state]) { rule = table->accepts[state] - 1; end = place + 1; }
    }
    if (place > line->reach) line->reach = place;
    if (rule >= 0 && table->mains[rule]) end = cut(table, units, begin, end, rule);
    int action = rule < 0 ? DROP : table->actions[rule];
    if (action == DROP) return end;
    char small[64];
    int64_t size = (end < line->solid ? end : line->solid) - begin, i = 0;
    if (action <= ASIS && size <= (int64_t)sizeof small)
        for (; i < size && units[begin + i] < 128; i++) {
            char c = (char)units[begin + i];
            small[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        }
    if (size < 0) size = 0;
    int32_t number = size && i == size ? words_number(words, small, size, 0)
                                       : shaped(words, shape, action, units + begin, size);
    if (number == -2) PyErr_NoMemory();
    if (number < -1 || (number >= 0 && numbers_add(numbers, number))) return -1;
    return end;
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

/* The text and what follows it as the automaton reads them. */
static int units_of(Units *units, Line *line, PyObject *text, PyObject *next) {
    units->length = append(line, 0, text, INT64_MAX / 8);
    if (units->length < 0) return -1;
    line->units[units->length] = '\n';
    units->limit = append(line, units->length + 1, next, 16);
    if (units->limit < 0) return -1;
    units->solid = units->length;  /* the tool strips blanks off a line's end */
    while (units->solid && Py_UNICODE_ISSPACE(line->units[units->solid - 1])) units->solid--;
    units->units = line->units;
    return 0;
}

/* ---- chunks: what stands between blanks, with the tokens it was cut into before ---- */

enum { CHUNKS = 1 << 16, CHUNK = 16, UNKNOWN = -1, OPEN = -2 };

/* The automaton is asked once for a chunk, if it never had to look further than the blank or line end after it: then the
   same bytes always give the same tokens. Otherwise (OPEN) it is asked every time. */
typedef struct { uint64_t text[2]; int32_t ids[2]; char after; int8_t count; } Chunk;

/* Bytes above a blank from `data` on, at most 16 of them, as two numbers; returns how many, 17: more. The text ends in
   at least 16 zero bytes. */
static int chunk_read(const char *data, uint64_t *text) {
    text[1] = 0;
    for (int half = 0; half < 2; half++, data += 8) {
#if PY_LITTLE_ENDIAN && (defined(__GNUC__) || defined(__clang__))
        uint64_t bytes, ends;
        memcpy(&bytes, data, 8);
        ends = ~(bytes + 0x5F5F5F5F5F5F5F5Full) & 0x8080808080808080ull;  /* ASCII bytes up to a blank */
        int count = ends ? __builtin_ctzll(ends) >> 3 : 8;
        text[half] = ends ? bytes & (((uint64_t)1 << 8 * count) - 1) : bytes;
#else
        int count = 0;
        for (text[half] = 0; count < 8 && data[count] > ' '; count++)
            text[half] |= (uint64_t)data[count] << 8 * count;
#endif
        if (count < 8) return 8 * half + count;
    }
    return *data > ' ' ? 17 : 16;
}

/* Where a chunk is kept; one that was there before is forgotten. The byte after it, blank or line end, belongs to it. */
static Chunk *chunk_of(Chunk *chunks, const uint64_t *text, char after) {
    uint64_t hash = (text[0] ^ text[1] * 0xC2B2AE3D27D4EB4Full ^ (uint64_t)after) * 0x9E3779B97F4A7C15ull;
    Chunk *chunk = &chunks[hash >> 48 & (CHUNKS - 1)];
    if (chunk->text[0] == text[0] && chunk->text[1] == text[1] && chunk->after == after) return chunk;
    *chunk = (Chunk){{text[0], text[1]}, {0, 0}, after, UNKNOWN};
    return chunk;
}

static void chunk_keep(Chunk *chunk, const Numbers *numbers, int64_t before, int closed) {
    int64_t count = numbers->count - before;
    chunk->count = closed && count <= 2 ? (int8_t)count : OPEN;
    for (int64_t k = 0; k < count && chunk->count >= 0; k++)
        chunk->ids[k] = ((int32_t *)PyByteArray_AS_STRING(numbers->bytes))[before + k];
}

/* For every byte: is a blank before it dropped without a look at what comes after that byte? */
static void lone_blanks(const Table *table, uint8_t *lone) {
    uint32_t state = table->moves[table->start * table->width + table->classes[' ']];
    int rule = state && table->accepts[state] ? table->accepts[state] - 1 : -1;
    int dropped = rule < 0 || (table->actions[rule] == DROP && !table->mains[rule]);
    for (int byte = 0; byte < 128; byte++)
        lone[byte] = dropped && (!state || !table->moves[state * table->width + table->classes[byte]]);
}

typedef struct {
    const Table *table;
    Words *words;
    Numbers *numbers;
    PyObject *shape;
    Chunk *chunks;
    uint8_t lone[128];
    char *plain;  /* a text with zero bytes behind it */
    int64_t room;
} Run;

static const char *padded(Run *run, PyObject *text, int64_t length) {
    if (length + CHUNK + 8 > run->room) {
        char *larger = realloc(run->plain, (size_t)(2 * length + 1024));
        if (!larger) { PyErr_NoMemory(); return NULL; }
        run->plain = larger;
        run->room = 2 * length + 1024;
    }
    memcpy(run->plain, PyUnicode_1BYTE_DATA(text), (size_t)length);
    memset(run->plain + length, 0, CHUNK + 8);
    return run->plain;
}

/* A text of ASCII characters, chunk by chunk. */
static int tokenize_plain(Run *run, Line *line, PyObject *text, PyObject *next) {
    int64_t length = PyUnicode_GET_LENGTH(text), begin = 0;
    const char *data = padded(run, text, length);
    Units units = {NULL, 0, 0, 0, 0};
    if (!data) return -1;
    while (begin < length) {
        if (data[begin] == ' ' && run->lone[begin + 1 < length ? (int)data[begin + 1] : '\n']) { begin++; continue; }
        uint64_t bytes[2];
        int64_t end = begin + chunk_read(data + begin, bytes), before = run->numbers->count;
        Chunk *chunk = NULL;
        if (end > begin && end <= begin + CHUNK && (end == length || data[end] == ' ')) {
            chunk = chunk_of(run->chunks, bytes, end == length ? '\n' : ' ');
            for (int k = 0; k < chunk->count; k++)
                if (numbers_add(run->numbers, chunk->ids[k])) return -1;
            if (chunk->count >= 0) { begin = end; continue; }
        }
        if (!units.units && units_of(&units, line, text, next)) return -1;
        units.reach = 0;
        do begin = step(run->table, &units, begin, run->words, run->numbers, run->shape);
        while (chunk && begin >= 0 && begin < end);
        if (begin < 0) return -1;
        if (chunk) chunk_keep(chunk, run->numbers, before, begin == end && units.reach <= end);
    }
    return 0;
}

static int tokenize_one(Run *run, Line *line, PyObject *text, PyObject *next) {
    if (PyUnicode_IS_ASCII(text)) return tokenize_plain(run, line, text, next);
    Units units = {NULL, 0, 0, 0, 0};
    if (units_of(&units, line, text, next)) return -1;
    for (int64_t begin = 0; begin < units.length;) {
        begin = step(run->table, &units, begin, run->words, run->numbers, run->shape);
        if (begin < 0) return -1;
    }
    return 0;
}

static int tokenize_all(Run *run, PyObject *texts, const int64_t *following, PyObject *unknown, int64_t *offsets) {
    Line line = {NULL, 0};
    int failed = 0;
    Py_ssize_t count = PyList_GET_SIZE(texts);
    for (Py_ssize_t i = 0; i < count && !failed; i++) {
        PyObject *text = PyList_GET_ITEM(texts, i);
        PyObject *next = following[i] >= 0 && following[i] < count ? PyList_GET_ITEM(texts, following[i]) : unknown;
        failed = !PyUnicode_Check(text) || !PyUnicode_Check(next);
        if (failed) PyErr_SetString(PyExc_TypeError, "texts must be str");
        else failed = tokenize_one(run, &line, text, next);
        offsets[i + 1] = run->numbers->count;
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
    Numbers numbers = {PyByteArray_FromStringAndSize(NULL, 4096 * (Py_ssize_t)sizeof(int32_t)), 0, 4096};
    Run run = {&table, &words, &numbers, shape, calloc(CHUNKS, sizeof(Chunk)), {0}, NULL, 0};
    PyObject *offsets = PyByteArray_FromStringAndSize(NULL, (count + 1) * (Py_ssize_t)sizeof(int64_t));
    int failed = words_make(&words, dropped) || !numbers.bytes || !offsets;
    if (!run.chunks) { PyErr_NoMemory(); failed = 1; }
    if (following.len != count * (Py_ssize_t)sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "`following` must be as long as `texts`");
        failed = 1;
    }
    if (!failed) {
        int64_t *bounds = (int64_t *)PyByteArray_AS_STRING(offsets);
        bounds[0] = 0;
        lone_blanks(&table, run.lone);
        failed = tokenize_all(&run, texts, following.buf, unknown, bounds)
                 || PyByteArray_Resize(numbers.bytes, (Py_ssize_t)(numbers.count * (int64_t)sizeof(int32_t)));
    }
    PyObject *list = failed ? NULL : words_list(&words);
    if (list) result = PyTuple_Pack(3, list, offsets, numbers.bytes);
    Py_XDECREF(list);
    Py_XDECREF(offsets);
    Py_XDECREF(numbers.bytes);
    free(run.chunks);
    free(run.plain);
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
