"""
The certificate over time
=========================

How good is a choice of features, if there are billions of them? ``certify=True`` runs a branch and
bound: it splits the choices into sets and computes for each set a number that no choice in it is
below. The least of these numbers is a lower bound for all choices. It rises with time until it
meets the objective of the choice that was found: then no other choice is better.
"""

# %%
# Listening to the proof
# ----------------------
# With scikit-learn 1.9 or newer a callback hears of every step: the best objective and the lower
# bound so far. It could also stop the fit by returning True.
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from rowsparse import TopK


class Listener:
    def __init__(self):
        self.steps = []

    def setup(self, estimator, context):
        self.start = time.perf_counter()

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        if metadata and "lower_bound" in metadata:
            seconds = time.perf_counter() - self.start
            self.steps.append((seconds, metadata["objective"], metadata["lower_bound"]))


# %%
# Seven of 64 pixels
# ------------------
# There are 621 million choices. The more ridge (``alpha``), the sooner the proof is done.
X, y = load_digits(return_X_y=True)
curves = {}
for alpha in (0.5, 2.0):
    listener = Listener()
    selector = TopK(7, alpha=alpha, certify=True, random_state=0)
    selector.set_callbacks(listener)
    selector.fit(X, y)
    curves[alpha] = np.array(listener.steps)
    print(f"alpha={alpha}: {selector.status_} after {selector.n_nodes_} subproblems")

# %%
# Objective and bound
# -------------------
# Where the two meet, the choice is proven. Whenever you stop, the best choice there is lies
# between the lines: ``time_limit`` stops a proof, and ``gap_`` says what is left.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, (alpha, steps) in zip(axes, curves.items(), strict=True):
    seconds, objective, bound = steps.T
    ax.step(seconds, objective, where="post", color="tab:orange", label="objective of the choice")
    ax.step(seconds, bound, where="post", color="tab:blue", label="lower bound of all choices")
    ax.fill_between(seconds, bound, objective, step="post", color="0.9", label="not known yet")
    ax.set(xlabel="seconds", ylabel="objective", title=f"alpha = {alpha}")
    ax.legend(loc="lower right")
plt.show()
