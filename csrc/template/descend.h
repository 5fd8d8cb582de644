/* descend.h -- one side's update over all its dimensions, in one parallel region. */

static void FN(descend)(const fmf_descent *d, int64_t dimensions, const fmf_dimension *dimension, int32_t threads) {
#pragma omp parallel num_threads(threads)
    {
        const int thread = FMF_THREAD, team = FMF_TEAM;
        for (int64_t k = 0; k < dimensions; k++) {
            FN(load_slots)(d, k ? dimension[k - 1].slot : -1, dimension[k].slot, thread, team);
#pragma omp barrier
            FN(pass_over_pairs)(d, k > 0, thread, team);
#pragma omp barrier
            if (d->eta && k == 0) {
                FN(measure_eta)(d, thread, team);
#pragma omp barrier
            }
            FN(sweep_with)(d, &dimension[k], thread, team);
#pragma omp barrier
        }
    }
}
