/* Numbers for n-grams, by first appearance. Twin: vericap/text/ngrams_python.py. */

#include "text.h"

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)0)
#endif

enum { BLOCK = 32 }; /* look-ups started together, so that memory is waited for once */

typedef struct { int32_t prefix, last; } Gram; /* the n-gram one word shorter, and the last word */

/* Numbers given so far. often: by n-gram, 0 if it was met once, 1 if again. */
typedef struct { uint8_t *often; int64_t count, room; } Numbers;

/* The number of a new n-gram; -1: no memory. */
static int32_t number_new(Numbers *numbers)
{
    if (numbers->count == numbers->room) {
        int64_t room = numbers->room * 2 + 1024;
        uint8_t *often = realloc(numbers->often, (size_t)room);
        if (!often)
            return -1;
        numbers->often = often;
        numbers->room = room;
    }
    numbers->often[numbers->count] = 0;
    return (int32_t)numbers->count++;
}

/* ---- n-grams of one order that may come again ---- */

typedef struct { Gram gram; int32_t next; } Slot; /* next: the number plus 1, 0: empty */
typedef struct { Slot *slots; uint64_t size, used; } Map;

static inline uint64_t hash_of(Gram gram)
{
    uint64_t key = ((uint64_t)(uint32_t)gram.prefix << 32 | (uint32_t)gram.last) * 0x9E3779B97F4A7C15ull;
    return key ^ key >> 32;
}

/* The slot of an n-gram: its own, or the empty one where it belongs. */
static inline Slot *map_find(const Map *map, Gram gram, uint64_t hash)
{
    for (uint64_t place = hash & (map->size - 1);; place = (place + 1) & (map->size - 1)) {
        Slot *slot = &map->slots[place];
        if (!slot->next || (slot->gram.prefix == gram.prefix && slot->gram.last == gram.last))
            return slot;
    }
}

static int map_grow(Map *map)
{
    Map larger = {calloc((size_t)map->size * 2, sizeof(Slot)), map->size * 2, map->used};
    if (!larger.slots)
        return -1;
    for (uint64_t i = 0; i < map->size; i++)
        if (map->slots[i].next)
            *map_find(&larger, map->slots[i].gram, hash_of(map->slots[i].gram)) = map->slots[i];
    free(map->slots);
    *map = larger;
    return 0;
}

typedef struct { int64_t place; Gram gram; uint64_t hash; int alone; } Lookup;

static int number_block(const Lookup *lookups, int count, Map *map, Numbers *numbers, int32_t *longer)
{
    for (int k = 0; k < count; k++) {
        const Lookup *lookup = lookups + k;
        Slot *slot = lookup->alone ? NULL : map_find(map, lookup->gram, lookup->hash);
        if (slot && slot->next) {
            longer[lookup->place] = slot->next - 1;
            numbers->often[slot->next - 1] = 1;
            continue;
        }
        int32_t number = number_new(numbers);
        if (number < 0)
            return -1;
        longer[lookup->place] = number;
        if (!slot)
            continue;
        *slot = (Slot){lookup->gram, number + 1};
        if (++map->used * 4 > map->size * 3 && map_grow(map))
            return -1;
    }
    return 0;
}

/* The n-gram at each place from the n-grams one word shorter; -1 where a text has no `order` words left.
   An n-gram whose first or last n - 1 words stand nowhere else stands nowhere else itself: it is not looked up. */
static int next_order(const Table *table, Map *map, Numbers *numbers, int32_t *longer, int order)
{
    const int32_t *words = table->row[0], *shorter = table->row[order - 2];
    Lookup block[BLOCK];
    int filled = 0;
    memset(map->slots, 0, (size_t)map->size * sizeof(Slot));
    map->used = 0;
    for (int64_t text = 0; text < table->texts; text++) {
        int64_t begin = table->bounds[text], stop = table->bounds[text + 1], end = stop - order + 1;
        for (int64_t i = begin; i < end; i++) {
            Lookup *lookup = &block[filled++];
            lookup->place = i;
            lookup->gram = (Gram){shorter[i], words[i + order - 1]};
            lookup->hash = hash_of(lookup->gram);
            lookup->alone = !(numbers->often[shorter[i]] & numbers->often[shorter[i + 1]]);
            PREFETCH(&map->slots[lookup->hash & (map->size - 1)]);
            if (filled == BLOCK) {
                if (number_block(block, filled, map, numbers, longer))
                    return -1;
                filled = 0;
            }
        }
        for (int64_t i = end > begin ? end : begin; i < stop; i++)
            longer[i] = -1;
    }
    return number_block(block, filled, map, numbers, longer);
}

static int number_words(const Table *table, Numbers *numbers, int64_t vocabulary)
{
    for (int64_t word = 0; word < vocabulary; word++)
        if (number_new(numbers) < 0)
            return -1;
    uint8_t *met = calloc((size_t)vocabulary + 1, 1);
    if (!met)
        return -1;
    for (int64_t i = 0; i < table->tokens; i++) {
        int32_t word = table->row[0][i];
        numbers->often[word] |= met[word];
        met[word] = 1;
    }
    free(met);
    return 0;
}

/* ngrams(words i32, longer n-grams i32 (orders - 1, tokens) to be filled, offsets i64, orders, vocabulary,
   starts i64 to be filled) */
PyObject *text_ngrams(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer b[4];
    long long vocabulary;
    int orders;
    Table table;
    if (!PyArg_ParseTuple(args, "y*w*y*iLw*", &b[0], &b[1], &b[2], &orders, &vocabulary, &b[3]))
        return NULL;
    if (table_make(&table, &b[0], &b[1], &b[2], orders))
        return done(b, 4, 1);
    int64_t *starts = b[3].buf;
    Numbers numbers = {NULL, 0, 0};
    Map map = {NULL, 1 << 10, 0};
    while (map.size < (uint64_t)table.tokens / 4)
        map.size *= 2;
    map.slots = malloc((size_t)map.size * sizeof(Slot));
    int failed = !map.slots || number_words(&table, &numbers, vocabulary);
    starts[0] = 0;
    starts[1] = numbers.count;
    for (int order = 2; order <= orders && !failed; order++) {
        failed = next_order(&table, &map, &numbers, (int32_t *)b[1].buf + (order - 2) * table.tokens, order);
        starts[order] = numbers.count;
    }
    free(numbers.often);
    free(map.slots);
    return done(b, 4, failed);
}
