"""
How a fit goes
==============

The objective never rises; the error on a validation part says when to stop.
"""

import matplotlib.pyplot as plt

from fmfkit import FMF, Dataset, examples

ratings, readers, books = examples.ratings()
data = Dataset.of(ratings, queries=readers, targets=books)
model = FMF(rank=8).fit(data, validate=0.1)
print(model)

# %%
# The model remembers both curves.
model.plot()
plt.show()
