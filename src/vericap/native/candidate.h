/* A candidate's n-grams, and how often its references have them: what BLEU (text.c) and CIDEr (cider.c) share. */

#ifndef VERICAP_CANDIDATE_H
#define VERICAP_CANDIDATE_H

#include "text.h"

static inline int64_t longest_text(const Table *table)
{
    int64_t longest = 0;
    for (int64_t text = 0; text < table->texts; text++)
        if (text_length(table, text) > longest)
            longest = text_length(table, text);
    return longest;
}

typedef struct {
    int32_t *first;           /* by word: the first place of the candidate where it stands plus 1, 0: nowhere */
    int32_t *next;            /* by place: the next place with the same word, -1: none */
    int32_t *again;           /* by place: whether what is looked at stands at another place too */
    int32_t *index;           /* by order and place: which of the distinct n-grams begins there */
    int32_t *gram, *count;    /* distinct n-grams, shorter ones first, in the order of the text */
    int32_t *met, *most;      /* how often they stand in a reference, and at most in any */
    int64_t from[ORDERS + 1]; /* where each order begins among them */
    const int32_t *row[ORDERS];
    int64_t length;
} Candidate;

static inline int candidate_make(Candidate *own, const Table *table, int64_t words)
{
    size_t longest = (size_t)longest_text(table) + 1, most = longest * (size_t)table->orders;
    own->first = calloc((size_t)words + 1, 4);
    own->next = malloc((2 * longest + 5 * most) * 4);
    if (!own->first || !own->next)
        return -1;
    own->again = own->next + longest;
    own->index = own->again + longest;
    own->gram = own->index + most;
    own->count = own->gram + most;
    own->met = own->count + most;
    own->most = own->met + most;
    own->length = 0;
    return 0;
}

static inline void candidate_free(Candidate *own)
{
    free(own->first);
    free(own->next);
}

/* The first place from `place` on with the same n-gram among those that begin with the same word; -1: none. */
static inline int64_t same_from(const Candidate *own, int64_t place, int order, int32_t gram)
{
    while (place >= 0 && own->row[order][place] != gram)
        place = own->next[place];
    return place;
}

/* Forget the text before, and link the places of another one by their words; whether a word stands there twice. */
static inline int candidate_link(Candidate *own, const Table *table, int64_t text)
{
    int repeats = 0;
    for (int64_t i = 0; i < own->length; i++)
        own->first[own->row[0][i]] = 0;
    own->length = text_length(table, text);
    for (int n = 0; n < table->orders; n++)
        own->row[n] = text_grams(table, text, n);
    for (int64_t i = own->length - 1; i >= 0; i--) {
        int32_t *first = &own->first[own->row[0][i]];
        own->next[i] = *first - 1;
        own->again[i] = *first != 0;
        if (*first)
            repeats = own->again[*first - 1] = 1;
        *first = (int32_t)i + 1;
    }
    return repeats;
}

/* Link a candidate, and collect its distinct n-grams. */
static inline void candidate_read(Candidate *own, const Table *table, int64_t text)
{
    int64_t used = 0;
    candidate_link(own, table, text);
    for (int n = 0; n < table->orders; n++) {
        int32_t *index = own->index + n * own->length;
        own->from[n] = used;
        for (int64_t i = 0; i < own->length - n; i++) {
            int64_t same = own->again[i] ? same_from(own, own->first[own->row[0][i]] - 1, n, own->row[n][i]) : i;
            if (same == i) {
                own->gram[used] = own->row[n][i];
                own->count[used] = own->met[used] = own->most[used] = 0;
            }
            index[i] = same == i ? (int32_t)used++ : index[same];
            own->count[index[i]]++;
        }
    }
    own->from[table->orders] = used;
}

/* Count the candidate's n-grams in a reference. A longer n-gram is shared only where its beginning is. */
static inline void candidate_meet(Candidate *own, const Table *table, int64_t reference)
{
    int64_t begin = table->bounds[reference], end = table->bounds[reference + 1];
    for (int64_t i = begin; i < end; i++) {
        int64_t place = own->first[table->row[0][i]] - 1;
        for (int n = 0; place >= 0; ) {
            own->met[own->index[n * own->length + place]]++;
            if (++n == table->orders || i + n >= end)
                break;
            place = same_from(own, place, n, table->row[n][i]);
        }
    }
}

#endif
