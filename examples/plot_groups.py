"""
Features in groups, some that must stay
=======================================

Columns often come together: the levels of a category, the lags of a sensor, the measurements of
one blood test. You pay for the test, not for the column. With ``feature_groups`` the number to
select counts groups, and ``include`` and ``exclude`` name columns that must and must not be in.
"""

# %%
# A table of flats
# ----------------
# Six questions, of which three are categories with several levels each. The price of a flat
# depends on the region, the size and the heating. ``OneHotEncoder`` makes a column of every level,
# and the name of a column begins with that of its question.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import OneHotEncoder

from rowsparse import TopK, topk_path

rng = np.random.default_rng(0)
n = 500
levels = {
    "region": ["north", "east", "south", "west", "centre"],
    "heating": ["gas", "oil", "district", "heat pump"],
    "colour": ["white", "grey", "red", "yellow", "blue", "green"],
}
categories = {name: rng.choice(values, n) for name, values in levels.items()}
numbers = {name: rng.standard_normal(n) for name in ("size", "floor", "year")}
effect = dict(zip(levels["region"], [0.0, -1.0, 0.5, 1.0, 2.0], strict=True))
effect |= dict(zip(levels["heating"], [0.0, -0.5, 0.2, 0.8], strict=True))
price = 1.5 * numbers["size"] + rng.standard_normal(n)
price += sum(np.vectorize(effect.get)(categories[name]) for name in ("region", "heating"))

encoder = OneHotEncoder(sparse_output=False).fit(np.column_stack(list(categories.values())))
X = np.hstack(
    [
        encoder.transform(np.column_stack(list(categories.values()))),
        *(column[:, None] for column in numbers.values()),
    ]
)
groups = [name for name, values in levels.items() for _ in values] + list(numbers)
names = [f"{g}={v}" for g, values in levels.items() for v in sorted(values)] + list(numbers)
print(X.shape[1], "columns in", len(set(groups)), "groups")

# %%
# Columns alone, or whole groups
# ------------------------------
# Six columns on their own are levels from here and there. Three groups are three questions.
single = TopK(6, random_state=0).fit(X, price)
print("columns:", [names[j] for j in single.get_support(indices=True)])
grouped = TopK(3, feature_groups=groups, random_state=0).fit(X, price)
print("groups:", sorted({groups[j] for j in grouped.get_support(indices=True)}))

# %%
# What must be in, and what must not
# ----------------------------------
# The year has to be in the model, and the heating is not known in advance.
year = names.index("year")
heating = [j for j, group in enumerate(groups) if group == "heating"]
rules = TopK(3, feature_groups=groups, include=[year], exclude=heating, random_state=0)
rules.fit(X, price)
print("groups:", sorted({groups[j] for j in rules.get_support(indices=True)}))

# %%
# The best groups for every number of them
# ----------------------------------------
path = topk_path(X, price, 6, feature_groups=groups, random_state=0)
unique = list(dict.fromkeys(groups))
inside = np.array([[row[groups.index(g)] for g in unique] for row in path.membership])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot(path.ks, path.objectives, "o-")
left.set(xlabel="number of groups", ylabel="objective", title="What each group adds")
left.set_ylim(0, 1.05 * path.objectives[0])
right.imshow(inside.T, cmap="Blues", vmin=0, vmax=1.5, aspect="auto")
right.set_xticks(range(6), path.ks)
right.set_yticks(range(6), unique)
right.set(xlabel="number of groups", title="Groups of the best choice")
plt.show()
