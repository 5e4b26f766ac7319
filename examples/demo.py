"""
The demonstration: every method on handwritten digits
=====================================================

``make demo`` runs it: the methods of the papers and TopK pick ten of the 64 pixels of
scikit-learn's digits; a table on the screen, and a picture in ``demo/digits.png``.
"""

from pathlib import Path
from time import perf_counter

from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from rowsparse import CDLSR, RFS, RPFS, LpInf, NmAPG, TopK

K = 10
METHODS = {
    "RFS": ("Nie et al. 2010", RFS(K)),
    "RPFS": ("Cai et al. 2013", RPFS(K)),
    "LpInf": ("Kong & Ding 2014", LpInf(K)),
    "NmAPG": ("An et al. 2021", NmAPG(K)),
    "CDLSR": ("Xu et al. 2023", CDLSR(K)),
    "TopK, squares": ("this library", TopK(K, loss="squared", alpha=0.0, random_state=0)),
    "TopK": ("this library", TopK(K, random_state=0)),
}
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7E57C2")


def accuracy(*steps):
    """Of a linear support vector machine on held-out images, pixels picked inside each fold."""
    model = make_pipeline(*steps, StandardScaler(), SVC(kernel="linear"))
    scores = cross_val_score(model, X, y, cv=StratifiedKFold(5, shuffle=True, random_state=0))
    return f"{100 * scores.mean():.1f} ± {100 * scores.std():.1f} %"


X, y = load_digits(return_X_y=True)
means = [X[y == digit].mean(axis=0).reshape(8, 8) for digit in range(10)]
figure = Figure(figsize=(12, 1 + 0.95 * len(METHODS)))
margins = {"left": 0.14, "right": 0.89, "top": 0.93, "bottom": 0.02, "hspace": 0.08}
grid = figure.subplots(len(METHODS), 10, gridspec_kw=margins)
print(f"{K} of the 64 pixels of handwritten digits\n")
print(f"{'Method':15}{'Paper':18}{'Selected':>8}{'Seconds':>9}   Accuracy")
# With 64 columns, several threads would only wait for each other.
with threadpool_limits(1):
    for row, colour, (name, (paper, selector)) in zip(grid, COLOURS, METHODS.items(), strict=True):
        start = perf_counter()
        support = clone(selector).fit(X, y).get_support(indices=True)
        seconds, correct = perf_counter() - start, accuracy(selector)
        print(f"{name:15}{paper:18}{support.size:8}{seconds:9.3f}   {correct}", flush=True)
        for ax, image in zip(row, means, strict=True):
            ax.imshow(image, cmap="Greys", vmin=0, vmax=26)
            for pixel in support:
                ax.plot(pixel % 8, pixel // 8, "s", color=colour, ms=5, mfc="none", mew=1.6)
            ax.set(xticks=[], yticks=[])
        row[0].set_ylabel(f"{name}\n{paper}", rotation=0, ha="right", va="center")
        row[-1].text(1.15, 0.5, correct, transform=row[-1].transAxes, va="center")
    whole = accuracy()
print(f"{'All pixels':33}{X.shape[1]:8}{'':9}   {whole}")
figure.suptitle(
    f"Which {K} pixels tell the ten digits apart? Accuracy on held-out images; with all 64: {whole}"
)
path = Path("demo") / "digits.png"
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=110)
print(f"\nPicture: {path}")
