"""
Survival times
==============

Which few of 500 measurements tell who lives longer, if some were still alive when observation
ended? ``loss="cox"`` chooses the features of a Cox regression, and proves that no others are
better.
"""

# %%
# Times that end early
# --------------------
# A structured array has the event (False where observation ended before it) and the time, as
# scikit-survival has it. Features 0, 7 and 9 matter.
import matplotlib.pyplot as plt
import numpy as np

from rowsparse import TopKRegressor
from rowsparse.plotting import SurvivalDisplay

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 500))
months = rng.exponential(20.0 * np.exp(-X[:, [0, 7, 9]] @ [0.7, -0.7, 0.5]))
ended = rng.uniform(10.0, 60.0, 400)
y = np.zeros(400, dtype=[("died", bool), ("months", float)])
y["died"], y["months"] = months <= ended, np.minimum(months, ended)
print(f"{y['died'].sum()} of {len(y)} samples had the event")

# %%
# The choice, from half of the samples
# ------------------------------------
train, test = np.arange(200), np.arange(200, 400)
model = TopKRegressor(3, certify=True, random_state=0).fit(X[train], y[train])
print(f"features {model.get_support(indices=True).tolist()}, {model.status_}")
print(f"concordance of the other half: {model.score(X[test], y[test]):.2f}")

# %%
# How long the others live, by their risk
# ---------------------------------------
# The share that is still alive (the Kaplan-Meier estimate), of the half of the held-out samples
# with the higher predicted risk, and of the other half.
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
display = SurvivalDisplay.from_estimator(model, X[test], y[test], time_name="months", ax=ax)
ax.set(ylabel="share alive", title=f"200 held-out samples, log-rank p = {display.p_value:.1g}")
plt.show()
