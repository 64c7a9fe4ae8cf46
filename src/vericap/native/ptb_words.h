/* Distinct tokens of the tokeniser: bytes -> number. */

#ifndef VERICAP_PTB_WORDS_H
#define VERICAP_PTB_WORDS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

typedef struct { uint32_t hash; int32_t number; int64_t start; int32_t length; } Entry;

typedef struct {
    Entry *slots; int64_t size, used;      /* open addressing, size a power of two */
    char *text; int64_t filled, room;      /* all tokens one after the other */
    int64_t *begins; int64_t count, capacity;  /* of numbered tokens, in order */
    int32_t *lengths;
} Words;

static inline uint32_t hash_bytes(const char *text, int64_t length) {
    uint32_t hash = 2166136261u;
    for (int64_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

static inline int words_grow(Words *words) {
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
static inline int32_t words_number(Words *words, const char *text, int64_t length, int dropped) {
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

static inline void words_free(Words *words) {
    free(words->slots); free(words->text); free(words->begins); free(words->lengths);
}

static inline int words_make(Words *words, PyObject *dropped) {
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

static inline PyObject *words_list(const Words *words) {
    PyObject *list = PyList_New((Py_ssize_t)words->count);
    for (int64_t i = 0; list && i < words->count; i++) {
        PyObject *word = PyUnicode_DecodeUTF8(words->text + words->begins[i], words->lengths[i], "surrogatepass");
        if (!word) { Py_CLEAR(list); break; }
        PyList_SET_ITEM(list, (Py_ssize_t)i, word);
    }
    return list;
}

#endif
