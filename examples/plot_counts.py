"""
Counts
======

Visits to a doctor, reads of a gene, events a day: whole numbers whose spread grows with their mean.
``loss="poisson"`` chooses the features of a Poisson regression, in which an effect is a factor and
no rate is negative.
"""

# %%
# Three features that multiply the rate
# -------------------------------------
# A step of one standard deviation in features 0, 7 or 9 multiplies the rate by up to two; of the
# other 497 none matters.
import matplotlib.pyplot as plt
import numpy as np

from rowsparse import TopKRegressor

rng = np.random.default_rng(1)
X = rng.standard_normal((200, 500))
y = rng.poisson(np.exp(X[:, [0, 7, 9]] @ [0.7, -0.5, 0.4]))
print(f"counts from {y.min()} to {y.max()}, mean {y.mean():.1f}")

# %%
# The choice, with a proof
# ------------------------
regressors = {
    loss: TopKRegressor(3, loss=loss, certify=True, random_state=0).fit(X, y)
    for loss in ("poisson", "squared")
}
for loss, regressor in regressors.items():
    features = regressor.get_support(indices=True).tolist()
    print(f"{loss}: features {features}, {regressor.status_}")

# %%
# What they predict
# -----------------
# New samples, in ten groups by the predicted mean, against what was observed in them. Rates are
# never negative; numbers may be.
X_new = rng.standard_normal((4000, 500))
y_new = rng.poisson(np.exp(X_new[:, [0, 7, 9]] @ [0.7, -0.5, 0.4]))
figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
for (loss, regressor), marker in zip(regressors.items(), "os", strict=True):
    predicted = regressor.predict(X_new)
    groups = np.array_split(np.argsort(predicted), 10)
    means = [(predicted[group].mean(), y_new[group].mean()) for group in groups]
    ax.plot(*np.transpose(means), marker, label=loss)
ax.axline((0, 0), slope=1, color="0.7", zorder=0)
ax.set(xlabel="predicted mean", ylabel="observed mean", title="New samples, in tenths")
ax.legend(title="loss")
plt.show()
