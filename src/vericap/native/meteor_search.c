/* METEOR's matches between a candidate and a reference, and the beam search that chooses among them. */

#include "meteor.h"

Text meteor_text(const Work *work, int64_t text)
{
    int64_t from = work->offset[text], first = work->phrase_offset[text];
    Text found = {work->id + from, work->offset[text + 1] - from, work->span + first, work->phrase + first,
                  work->phrase_offset[text + 1] - first};
    return found;
}

static int sets_meet(const Work *work, int32_t a, int32_t b)
{
    int64_t i = work->synset_offset[a], j = work->synset_offset[b];
    int64_t end_i = work->synset_offset[a + 1], end_j = work->synset_offset[b + 1];
    while (i < end_i && j < end_j) {
        if (work->synset[i] == work->synset[j])
            return 1;
        if (work->synset[i] < work->synset[j])
            i++;
        else
            j++;
    }
    return 0;
}

/* Captions use the same words over and over, so answers are kept: word, word, 1, answer in one number. */
static int share_synset(const Work *work, int32_t a, int32_t b)
{
    if (!(work->signature[a] & work->signature[b]))
        return 0;
    uint64_t asked = (uint64_t)a << 33 | (uint64_t)b << 2 | 2;
    uint64_t *kept = work->pairs + (((uint32_t)a * 0x9E3779B1u ^ (uint32_t)b * 0x85EBCA6Bu) >> 8) % PAIRS;
    if ((*kept | 1) != (asked | 1))
        *kept = asked | (uint64_t)sets_meet(work, a, b);
    return (int)(*kept & 1);
}

static int add_match(Work *work, int64_t i, int64_t length, int64_t j, int64_t other_length, int stage)
{
    if (pool_reserve(&work->matches, 1))
        return -1;
    Match *match = (Match *)work->matches.data + work->matches.size++;
    match->start = (int32_t)i;
    match->length = (int32_t)length;
    match->other = (int32_t)j;
    match->other_length = (int32_t)other_length;
    match->stage = stage;
    int32_t *cover1 = work->cover1.data, *cover2 = work->cover2.data;
    for (int64_t k = 0; k < length; k++)
        cover2[i + k]++;
    for (int64_t k = 0; k < other_length; k++)
        cover1[j + k]++;
    return 0;
}

/* Candidate's phrases by number (chain of places), and which of them have a phrase as paraphrase. */
int meteor_index_candidate(Work *work, Text test)
{
    if (test.phrases > work->chain_room) {
        int32_t *chain = realloc(work->chain, (size_t)test.phrases * 4);
        if (!chain)
            return -1;
        work->chain = chain;
        work->chain_room = test.phrases;
    }
    for (int64_t place = test.phrases - 1; place >= 0; place--) {
        int32_t phrase = test.phrase[place];
        work->chain[place] = work->head[phrase];
        work->head[phrase] = (int32_t)place;
    }
    work->inverse.size = 0;
    for (int64_t place = 0; place < test.phrases; place++) {
        int32_t phrase = test.phrase[place];
        int64_t from = work->list_offset[phrase], to = work->list_offset[phrase + 1];
        if (pool_reserve(&work->inverse, (size_t)(to - from)))
            return -1;
        Step *inverse = work->inverse.data;
        for (int64_t k = from; k < to; k++) {
            int32_t target = work->list[k];
            inverse[work->inverse.size].match = (int32_t)place;
            inverse[work->inverse.size].before = work->inverse_head[target];
            work->inverse_head[target] = (int32_t)work->inverse.size++;
        }
    }
    return 0;
}

void meteor_forget_candidate(Work *work, Text test)
{
    for (int64_t place = 0; place < test.phrases; place++) {
        int32_t phrase = test.phrase[place];
        work->head[phrase] = -1;
        for (int64_t k = work->list_offset[phrase]; k < work->list_offset[phrase + 1]; k++)
            work->inverse_head[work->list[k]] = -1;
    }
}

/* Does place a of the candidate come before place b in the order of the table? Words first, then position. */
static int phrase_before(const Work *work, Text test, int32_t a, int32_t b)
{
    int32_t start_a = test.span[a] >> 3, start_b = test.span[b] >> 3;
    int32_t length_a = test.span[a] & 7, length_b = test.span[b] & 7;
    for (int32_t k = 0; k < length_a && k < length_b; k++) {
        int32_t x = work->number[test.id[start_a + k]], y = work->number[test.id[start_b + k]];
        if (x != y)
            return x < y;
    }
    if (length_a != length_b)
        return length_a < length_b;
    return start_a < start_b;
}

static int paraphrases_of_reference(Work *work, Text test, Text reference, int64_t place)
{
    int32_t phrase = reference.phrase[place];
    int64_t from = work->list_offset[phrase], to = work->list_offset[phrase + 1];
    work->found.size = 0;
    for (int64_t k = from; k < to; k++)
        for (int32_t at = work->head[work->list[k]]; at >= 0; at = work->chain[at]) {
            if (pool_reserve(&work->found, 1))
                return -1;
            int32_t *found = work->found.data;
            size_t put = work->found.size++;
            while (put && phrase_before(work, test, at, found[put - 1])) {
                found[put] = found[put - 1];
                put--;
            }
            found[put] = at;
        }
    int32_t *found = work->found.data;
    for (size_t k = 0; k < work->found.size; k++)
        if (add_match(work, reference.span[place] >> 3, reference.span[place] & 7, test.span[found[k]] >> 3,
                      test.span[found[k]] & 7, 3))
            return -1;
    return 0;
}

/* Phrases of the candidate that have one of the reference's phrases from `first` to `last` (one start) as paraphrase. */
static int paraphrases_of_candidate(Work *work, Text test, Text reference, int64_t first, int64_t last)
{
    work->found.size = 0;
    for (int64_t place = first; place < last; place++) {
        const Step *inverse = work->inverse.data;
        for (int32_t at = work->inverse_head[reference.phrase[place]]; at >= 0; at = inverse[at].before) {
            if (pool_reserve(&work->found, 1))
                return -1;
            /* candidate's start and length, then the reference's length: the order of METEOR's loops */
            int64_t *found = work->found.data;
            int64_t order = (int64_t)test.span[inverse[at].match] * 8 + (reference.span[place] & 7);
            size_t put = work->found.size++;
            while (put && order < found[put - 1]) {
                found[put] = found[put - 1];
                put--;
            }
            found[put] = order;
        }
    }
    int64_t *found = work->found.data;
    for (size_t k = 0; k < work->found.size; k++) {
        int64_t span = found[k] >> 3;
        if (add_match(work, reference.span[first] >> 3, found[k] & 7, span >> 3, span & 7, 3))
            return -1;
    }
    return 0;
}

static int same_words(const Work *work, Text test, Text reference)
{
    if (test.length != reference.length)
        return 0;
    for (int64_t i = 0; i < test.length; i++)
        if (work->key[test.id[i]] != work->key[reference.id[i]])
            return 0;
    return 1;
}

/* All matches, in METEOR's order, those that begin at reference word i between firsts[i] and firsts[i + 1]. */
int meteor_find_matches(Work *work, Text test, Text reference)
{
    int matchers = same_words(work, test, reference) ? work->matchers & 1 : work->matchers;
    int64_t place = 0;
    work->matches.size = work->cover1.size = work->cover2.size = work->firsts.size = 0;
    if (pool_reserve(&work->cover1, (size_t)test.length + 1) || pool_reserve(&work->cover2, (size_t)reference.length + 1)
        || pool_reserve(&work->firsts, (size_t)reference.length + 1))
        return -1;
    memset(work->cover1.data, 0, (size_t)test.length * 4);
    memset(work->cover2.data, 0, (size_t)reference.length * 4);
    int32_t *firsts = work->firsts.data;
    for (int64_t i = 0; i < reference.length; i++) {
        int32_t b = reference.id[i], key = work->key[b], stem = work->stem[b];
        firsts[i] = (int32_t)work->matches.size;
        if (matchers & 1)
            for (int64_t j = 0; j < test.length; j++)
                if (work->key[test.id[j]] == key && add_match(work, i, 1, j, 1, 0))
                    return -1;
        if (matchers & 2)
            for (int64_t j = 0; j < test.length; j++)
                if (work->stem[test.id[j]] == stem && work->key[test.id[j]] != key && add_match(work, i, 1, j, 1, 1))
                    return -1;
        if (matchers & 4)
            for (int64_t j = 0; j < test.length; j++)
                if (work->key[test.id[j]] != key && share_synset(work, test.id[j], b) && add_match(work, i, 1, j, 1, 2))
                    return -1;
        if (matchers & 8) {
            int64_t first = place;
            while (place < reference.phrases && reference.span[place] >> 3 == i)
                place++;
            for (int64_t k = first; k < place; k++)
                if (paraphrases_of_reference(work, test, reference, k))
                    return -1;
            if (place > first && paraphrases_of_candidate(work, test, reference, first, place))
                return -1;
        }
    }
    firsts[reference.length] = (int32_t)work->matches.size;
    return 0;
}

static int path_before(const Path *a, const Path *b)
{
    if (a->matched != b->matched)
        return a->matched > b->matched;
    if (a->chunks != b->chunks)
        return a->chunks < b->chunks;
    return a->distance < b->distance;
}

static int used_any(const uint64_t *bits, int64_t from, int64_t count)
{
    for (int64_t k = from; k < from + count; k++)
        if (bits[k >> 6] >> (k & 63) & 1)
            return 1;
    return 0;
}

static void use(uint64_t *bits, int64_t from, int64_t count)
{
    for (int64_t k = from; k < from + count; k++)
        bits[k >> 6] |= (uint64_t)1 << (k & 63);
}

static int weight(const Match *match) /* whole words count in full, others by half, cut off */
{
    return match->stage == 0 ? match->length + match->other_length : match->length / 2 + match->other_length / 2;
}

static int extend(Work *work, Path *path, const Match *match, int32_t index)
{
    if (pool_reserve(&work->steps, 1))
        return -1;
    Step *step = (Step *)work->steps.data + work->steps.size;
    step->match = index;
    step->before = path->steps;
    path->steps = (int32_t)work->steps.size++;
    path->matched += weight(match);
    if (path->last_end != -1 && match->other != path->last_end)
        path->chunks++;
    path->next = match->start + match->length;
    path->last_end = match->other + match->other_length;
    return 0;
}

typedef struct { Path path[BEAM]; int count; int free_slots[BEAM + 1], free_count; } Beam;

/* Where a path would go in a stable sort, or -1 where the beam has no room for it. */
static int beam_place(const Beam *beam, const Path *path)
{
    int put = beam->count;
    if (put == BEAM && !path_before(path, &beam->path[put - 1]))
        return -1;
    while (put && path_before(path, &beam->path[put - 1]))
        put--;
    return put;
}

static Path *beam_insert(Beam *beam, int put, const Path *path)
{
    if (beam->count == BEAM)
        beam->free_slots[beam->free_count++] = beam->path[--beam->count].slot;
    memmove(&beam->path[put + 1], &beam->path[put], (size_t)(beam->count - put) * sizeof(Path));
    beam->count++;
    beam->path[put] = *path;
    beam->path[put].slot = beam->free_slots[--beam->free_count];
    return &beam->path[put];
}

static void beam_clear(Beam *beam, int base)
{
    beam->count = 0;
    for (beam->free_count = 0; beam->free_count <= BEAM; beam->free_count++)
        beam->free_slots[beam->free_count] = base + beam->free_count;
}

/* Beam search; the best path's steps are left in work->steps. */
int meteor_resolve(Work *work, Text test, Text reference, Path *best)
{
    int64_t words1 = test.length / 64 + 1, words2 = reference.length / 64 + 1, size = words1 + words2;
    const Match *matches = work->matches.data;
    const int32_t *firsts = work->firsts.data, *cover1 = work->cover1.data, *cover2 = work->cover2.data;
    Beam beams[2], *now = &beams[0], *later = &beams[1];
    work->used.size = work->fixed.size = work->steps.size = 0;
    if (pool_reserve(&work->used, (size_t)(size * 2 * (BEAM + 1)))
        || pool_reserve(&work->fixed, (size_t)reference.length + 1))
        return -1;
    uint64_t *used = work->used.data;
    int32_t *fixed = work->fixed.data;
    beam_clear(now, 0);
    Path path = {0, 0, 0, 0, -1, -1, 0};
    uint64_t *bits = used + size * beam_insert(now, 0, &path)->slot;
    memset(bits, 0, (size_t)size * 8);
    for (int64_t i = 0; i < reference.length; i++) {
        fixed[i] = -1;
        if (firsts[i + 1] - firsts[i] != 1)
            continue;
        const Match *match = matches + firsts[i];
        int certain = 1;
        for (int32_t k = 0; k < match->length; k++)
            certain &= cover2[i + k] == 1;
        for (int32_t k = 0; k < match->other_length; k++)
            certain &= cover1[match->other + k] == 1;
        if (certain) {
            fixed[i] = firsts[i];
            use(bits, match->other, match->other_length);
            use(bits + words1, i, match->length);
        }
    }
    for (int64_t i = 0; i < reference.length; i++) {
        beam_clear(later, later == &beams[1] ? BEAM + 1 : 0);
        for (int p = 0; p < now->count; p++) {
            path = now->path[p];
            bits = used + size * path.slot;
            int put;
            if (used_any(bits + words1, i, 1)) {
                if (i >= path.next) {
                    int32_t index = fixed[path.next];
                    if (index < 0)
                        continue;
                    const Match *match = matches + index;
                    if (extend(work, &path, match, index))
                        return -1;
                    path.distance += llabs((int64_t)match->start - match->other);
                }
            } else {
                int64_t distance = path.distance;
                for (int32_t index = firsts[i]; index < firsts[i + 1]; index++) {
                    const Match *match = matches + index;
                    if (used_any(bits + words1, match->start, match->length)
                        || used_any(bits, match->other, match->other_length))
                        continue;
                    Path child = path;
                    child.distance = distance;
                    /* METEOR books the distance on the path it came from: later siblings bear it */
                    distance += llabs((int64_t)match->start - match->other);
                    size_t kept = work->steps.size;
                    if (extend(work, &child, match, index))
                        return -1;
                    put = beam_place(later, &child);
                    if (put < 0) {
                        work->steps.size = kept;
                        continue;
                    }
                    uint64_t *copy = used + size * beam_insert(later, put, &child)->slot;
                    memcpy(copy, bits, (size_t)size * 8);
                    use(copy, match->other, match->other_length);
                    use(copy + words1, match->start, match->length);
                }
                path.distance = distance;
                if (path.last_end != -1) {
                    path.chunks++;
                    path.last_end = -1;
                }
                path.next++;
            }
            put = beam_place(later, &path);
            if (put >= 0)
                memcpy(used + size * beam_insert(later, put, &path)->slot, bits, (size_t)size * 8);
        }
        if (!later->count) {
            uint64_t *copy = used + size * beam_insert(later, 0, &now->path[0])->slot;
            memcpy(copy, used + size * now->path[0].slot, (size_t)size * 8);
        }
        Beam *swap = now;
        now = later;
        later = swap;
    }
    for (int p = 0; p < now->count; p++) {
        path = now->path[p];
        if (path.last_end != -1)
            path.chunks++;
        if (p == 0 || path_before(&path, best))
            *best = path;
    }
    return 0;
}
