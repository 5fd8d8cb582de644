"""
How sure a prediction is
========================

Intervals are wide for readers with few ratings, and hold as many test ratings as they should.
"""

import matplotlib.pyplot as plt
import numpy as np

from fmfkit import FMF, Dataset, examples

ratings, readers, books = examples.ratings(readers=600, books=400, pairs=20_000)
train, test = Dataset.of(ratings, queries=readers, targets=books).split_random(0.2)
model = FMF(rank=8).fit(train)
pairs = test.queries.ids.column(test.query), test.targets.ids.column(test.target)

# %%
# The share of the test ratings that lies in intervals of several levels.
levels = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
inside = []
for level in levels:
    low, high = model.interval(*pairs, level)
    inside.append(np.mean((low <= test.y) & (test.y <= high)))
    print(f"level {level:.2f}: {inside[-1]:.3f} of the test ratings inside")
plt.plot(levels, inside, marker="o")
plt.plot(levels, levels, linestyle=":", color="grey")
plt.xlabel("level asked for")
plt.ylabel("share of test ratings inside (generated)")
plt.show()
