"""
Corrected, and as published
===========================

Three of the printed algorithms have errors. Every selector of a paper has
``variant="corrected"``, the default, and ``variant="published"``, which takes the printed steps,
so that printed numbers can be reproduced and the errors seen. Two of them here.
"""

# %%
# LpInf: a step that is a maximum
# -------------------------------
# The proximal step of Kong and Ding (2014) is to minimise (u - a)² / 2 + t abs(u)ᵖ. The printed
# search takes the first point where the derivative is zero and compares it with nothing.
import matplotlib.pyplot as plt
import numpy as np

from rowsparse.rows import prox_dc, prox_dc_published, prox_lpinf, prox_lpinf_published

a, t, p = 1.25, 1.0, 0.5


def lpinf(u):
    return 0.5 * (u - a) ** 2 + t * np.abs(u) ** p


steps = {
    "published": prox_lpinf_published([[a]], t, p)[0, 0],
    "corrected": prox_lpinf([[a]], t, p)[0, 0],
}
for variant, u in steps.items():
    print(f"LpInf, {variant}: u = {u:.3f}, value {lpinf(u):.3f}")

# %%
# NmAPG: a row that turns round
# -----------------------------
# The proximal step of An, Dong and Qin (2021) leaves the k longest rows and shortens the others by
# α. Printed without a limit at zero, it takes a short row to the other side.
U, alpha = np.array([[3.0], [0.4]]), 1.0


def nmapg(u):  # of the second row, which is not among the k = 1 longest
    return 0.5 * (u - U[1, 0]) ** 2 + alpha * np.abs(u)


rows = {
    "published": prox_dc_published(U, 1, alpha)[1, 0],
    "corrected": prox_dc(U, 1, 0.0, alpha)[1, 0],
}
for variant, u in rows.items():
    print(f"NmAPG, {variant}: u = {u:.1f}, value {nmapg(u):.3f}")

# %%
# Both in pictures
# ----------------
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for axes, value, found, ends, title in (
    (left, lpinf, steps, (-0.4, 1.4), "LpInf, p = 0.5"),
    (right, nmapg, rows, (-0.9, 0.9), "NmAPG, a row outside the k longest"),
):
    u = np.linspace(*ends, 400)
    axes.plot(u, value(u), color="0.5")
    for (variant, at), colour in zip(found.items(), ("tab:orange", "tab:blue"), strict=True):
        axes.plot(at, value(at), "o", markersize=9, color=colour, label=variant)
    axes.set(xlabel="u", ylabel="what the step is to minimise", title=title)
    axes.legend()
plt.show()
