"""
Words that tell texts apart, with the logistic loss
===================================================

Which 20 words tell what a text is about? Texts become sparse matrices with thousands of columns,
one for each word, and nearly all entries zero. :class:`rowsparse.TopK` takes them as they are:
nothing is made dense. For classes and few features the logistic loss is often better than the
squared one.
"""

# %%
# A corpus without a download
# ---------------------------
# The texts are the docstrings of SciPy's functions, up to their examples; the classes are the
# subpackages that the functions belong to. The names of these are left out, since they would give
# the answer away. (They change a little with the version of SciPy, and the words with them.)
import inspect

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.stats
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from rowsparse import FStatistic, TopK

packages = [scipy.linalg, scipy.ndimage, scipy.optimize, scipy.signal, scipy.stats]
texts, labels = [], []
for package in packages:
    for name in package.__all__:
        text = inspect.getdoc(getattr(package, name)) or ""
        if len(text) > 200:
            texts.append(text.split("Examples\n----")[0])
            labels.append(package.__name__.removeprefix("scipy."))
hidden = {"scipy", "statistics", *labels}
vectorizer = CountVectorizer(
    binary=True, min_df=5, token_pattern="[a-z]{3,}", stop_words=list(ENGLISH_STOP_WORDS | hidden)
)
X = vectorizer.fit_transform(texts).astype(np.float64)
words = vectorizer.get_feature_names_out()
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.1%} of X is not zero")

# %%
# Twenty words
# ------------
# Judged by logistic regression on the words that were selected inside each fold.
selectors = {
    "F statistic": FStatistic(20),
    "TopK, squared loss": TopK(20, loss="squared", random_state=0),
    "TopK, logistic loss": TopK(20, loss="logistic", n_restarts=5, random_state=0),
}
accuracy = {}
for name, selector in selectors.items():
    model = make_pipeline(selector, LogisticRegression())
    accuracy[name] = cross_val_score(model, X, labels, cv=3).mean()
accuracy["all words"] = cross_val_score(LogisticRegression(), X, labels, cv=3).mean()
for name, value in accuracy.items():
    print(f"{name:20s} {value:.3f}")

# %%
# What the words say
# ------------------
# ``coef_`` are the coefficients of logistic regression, one row for each class against the rest: a
# word with a large coefficient speaks for the class.
selector = selectors["TopK, logistic loss"].fit(X, labels)
chosen = selector.get_support(indices=True)
classes = np.unique(labels)
coef = selector.coef_[:, chosen]
order = np.lexsort((-coef.max(axis=0), coef.argmax(axis=0)))
limit = np.abs(coef).max()
figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
image = ax.imshow(coef[:, order].T, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
ax.set_xticks(range(len(classes)), classes)
ax.set_yticks(range(len(chosen)), words[chosen][order])
ax.set_title("Twenty words and the subpackages they speak for")
figure.colorbar(image, ax=ax, label="coefficient")
plt.show()
