"""
A map of items
==============

Embeddings of items, seen along their two main directions. The colours are topics, which training was not told.
"""

import matplotlib.pyplot as plt
import numpy as np

from fmfkit import FMF, Dataset, examples

clicks, items = examples.clicks(users=600, pairs=20_000)
trained = FMF(rank=8).fit(Dataset.of(clicks))

# %%
# Popular items have long embeddings; their direction says what kind they are.
V = trained.model.target_embedding
V = V / np.linalg.norm(V, axis=1, keepdims=True)
V = V - V.mean(axis=0)
across, up = np.linalg.svd(V, full_matrices=False)[2][:2]
known = trained.encoder.targets.ids.column(np.arange(len(V))).to_list()
topics = dict(zip(items["item"], items["topic"], strict=True))
for topic in sorted(set(items["topic"])):
    of_topic = [n for n, item in enumerate(known) if topics[item] == topic]
    plt.scatter(V[of_topic] @ across, V[of_topic] @ up, label=topic, s=18)
plt.legend(fontsize="small")
plt.show()
