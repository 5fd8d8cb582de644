/* plan.h -- lays out one round's partition: the sets' non-zeros by row, and |x_is| C_i by column, where
   C_i = sum over s in S of |x_is|.  C depends on the partition only, so it is taken once for all dimensions. */

static int32_t FN(plan)(const fmf_features *X, const fmf_plan *plan, int32_t threads) {
    const REAL *row_value = X->row_value, *col_value = X->col_value;
    REAL *conflict = plan->conflict, *entry_value = plan->entry_value;
    int32_t *set_of = malloc((size_t)(X->cols + 1) * sizeof *set_of);
    int32_t *place_of = malloc((size_t)(X->cols + 1) * sizeof *place_of);
    int64_t *cursor = calloc((size_t)threads * (size_t)plan->sets + 1, sizeof *cursor); /* (threads, sets) */
    REAL *C = calloc((size_t)threads * (size_t)X->rows + 1, sizeof *C);                 /* (threads, rows), zero between sets */
    int64_t *set_start = malloc((size_t)(plan->sets + 1) * sizeof *set_start);          /* non-zeros before each set */
    const int32_t status = set_of && place_of && cursor && C && set_start ? FMF_OK : FMF_OUT_OF_MEMORY;
    if (status == FMF_OK) {
        for (int64_t s = 0; s < X->cols; s++) set_of[s] = -1; /* the partition may leave features out */
        for (int64_t S = 0; S < plan->sets; S++) {
            for (int64_t t = plan->set_ptr[S]; t < plan->set_ptr[S + 1]; t++) {
                set_of[plan->order[t]] = (int32_t)S;
                place_of[plan->order[t]] = (int32_t)(t - plan->set_ptr[S]);
            }
        }
        for (int64_t S = 0; S <= plan->sets; S++) set_start[S] = plan->start[plan->set_ptr[S]];
#pragma omp parallel num_threads(threads)
        {
            const int thread = FMF_THREAD, team = FMF_TEAM;
            int64_t from, to;
            /* Rows in order, each thread a range of them: count, find where each thread's part of a set begins, put. */
            share_by_total(X->row_ptr, X->rows, thread, team, &from, &to);
            int64_t *mine = cursor + (int64_t)thread * plan->sets;
            for (int64_t e = X->row_ptr[from]; e < X->row_ptr[to]; e++) {
                const int32_t S = set_of[X->row_index[e]];
                if (S >= 0) mine[S]++;
            }
#pragma omp barrier
#pragma omp single
            for (int64_t S = 0; S < plan->sets; S++) {
                int64_t next = set_start[S];
                for (int t = 0; t < team; t++) {
                    const int64_t count = cursor[t * plan->sets + S];
                    cursor[t * plan->sets + S] = next;
                    next += count;
                }
            }
            for (int64_t i = from; i < to; i++) {
                for (int64_t e = X->row_ptr[i]; e < X->row_ptr[i + 1]; e++) {
                    const int32_t feature = X->row_index[e];
                    if (set_of[feature] < 0) continue;
                    const int64_t at = mine[set_of[feature]]++;
                    plan->entry_row[at] = (int32_t)i;
                    plan->entry_place[at] = place_of[feature];
                    entry_value[at] = row_value[e];
                }
            }
#pragma omp barrier
            REAL *own_C = C + (int64_t)thread * X->rows;
            share_by_total(set_start, plan->sets, thread, team, &from, &to);
            for (int64_t S = from; S < to; S++) {
                for (int64_t e = set_start[S]; e < set_start[S + 1]; e++) {
                    own_C[plan->entry_row[e]] += entry_value[e] < 0 ? -entry_value[e] : entry_value[e];
                }
                for (int64_t t = plan->set_ptr[S]; t < plan->set_ptr[S + 1]; t++) {
                    const int32_t s = plan->order[t];
                    for (int64_t e = X->col_ptr[s]; e < X->col_ptr[s + 1]; e++) {
                        const REAL x = col_value[e] < 0 ? -col_value[e] : col_value[e];
                        conflict[e] = x * own_C[X->col_index[e]];
                    }
                }
                for (int64_t e = set_start[S]; e < set_start[S + 1]; e++) own_C[plan->entry_row[e]] = 0;
            }
        }
    }
    free(set_of);
    free(place_of);
    free(cursor);
    free(C);
    free(set_start);
    return status;
}

static void FN(runs)(const fmf_plan *plan, int64_t *counts, int32_t threads) {
    int64_t S;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (S = 0; S < plan->sets; S++) {
        const int64_t end = plan->start[plan->set_ptr[S + 1]];
        int64_t run = counts ? 0 : plan->set_run[S];
        for (int64_t e = plan->start[plan->set_ptr[S]]; e < end; run++) {
            const int32_t i = plan->entry_row[e];
            if (!counts) {
                plan->run_row[run] = i;
                plan->run_ptr[run] = e;
            }
            while (e < end && plan->entry_row[e] == i) e++;
        }
        if (counts) counts[S] = run;
    }
    if (!counts) plan->run_ptr[plan->set_run[plan->sets]] = plan->start[plan->set_ptr[plan->sets]];
}
