"""
What features are worth
=======================

The fewer ratings a book has, the more its attributes help: with none they are all there is.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from fmfkit import FMF, Dataset, examples

ratings, readers, books = examples.ratings(readers=600, books=400, pairs=20_000)
described = Dataset.of(ratings, queries=readers, targets=books)
bare = Dataset.of(ratings, queries=readers.select("reader"), targets=books.select("book"))  # ids alone
train, test = described.split_random(0.3)
plain, _ = bare.split_random(0.3)  # the same pairs: the same seed

# %%
# The error of each test pair, by how many ratings its book has in training.
count = np.bincount(train.target, minlength=400)[test.target]
edges = [0, 5, 10, 20, 40, 80, 1000]
for label, part in (("ids only", plain), ("ids and features", train)):
    model = FMF(rank=8).fit(part)
    queries = test.queries.ids.column(test.query)
    targets = test.targets.ids.column(test.target)
    error = (model.predict(queries, targets) - test.y) ** 2
    curve = [np.sqrt(error[(low <= count) & (count < high)].mean()) for low, high in pairwise(edges)]
    plt.plot(range(len(curve)), curve, marker="o", label=label)
plt.xticks(range(6), ["0-4", "5-9", "10-19", "20-39", "40-79", "80 and more"])
plt.xlabel("ratings of the book in training")
plt.ylabel("RMSE on test pairs (generated)")
plt.legend()
plt.show()
