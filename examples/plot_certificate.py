"""
The certificate over time
=========================

How good is a choice of features, if there are billions of them? ``certify=True`` runs a branch and
bound: it splits the choices into sets and computes for each set a number that no choice in it is
below. The least of these numbers is a lower bound for all choices. It rises with time until it
meets the objective of the choice that was found: then no other choice is better.
"""

# %%
# Eight of 64 pixels
# ------------------
# There are 4.4 billion choices. The more ridge (``alpha``), the sooner the proof is done.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from rowsparse import TopK
from rowsparse.plotting import CertificateDisplay

X, y = load_digits(return_X_y=True)
selectors = {
    alpha: TopK(8, loss="squared", alpha=alpha, certify=True, random_state=0).fit(X, y)
    for alpha in (0.5, 2.0)
}
for alpha, selector in selectors.items():
    print(f"alpha={alpha}: {selector.status_} after {selector.n_nodes_} subproblems")

# %%
# Objective and bound
# -------------------
# Where the two meet, the choice is proven. Whenever you stop, the best choice there is lies
# between the lines: ``time_limit`` stops a proof, and ``gap_`` says what is left.
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for ax, (alpha, selector) in zip(axes, selectors.items(), strict=True):
    display = CertificateDisplay.from_estimator(selector, ax=ax)
    ax.set_title(f"alpha = {alpha}: {ax.get_title()}", fontsize=10)
plt.show()
