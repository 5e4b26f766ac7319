"""Prove that a choice of k units is the best one, or bound all others from below.

By branch and bound (:mod:`rowsparse.solvers.proof.tree`), which starts again with tightened bounds,
where there are any, if it takes long; or by trying all choices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np

from rowsparse._arrays import Index
from rowsparse.certificate.proof import Kind, Step
from rowsparse.design import Design, direction_key
from rowsparse.solvers.choices import Choices
from rowsparse.solvers.losses.newton import NewtonLoss
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.problem import Fit, Listed, Listing, Options, Problem, Proven
from rowsparse.solvers.proof.candidates import Candidates
from rowsparse.solvers.proof.column_candidates import ColumnCandidates
from rowsparse.solvers.proof.gram_candidates import GramCandidates
from rowsparse.solvers.proof.tree import Tree


def prove(
    problem: Problem,
    known: Fit,
    options: Options,
    search: Callable[[], tuple[Index, float]],
    candidates: Candidates | None = None,
) -> Proven:
    """Prove that a support is the best one, find a better one, or bound what is missing.

    Parameters
    ----------
    problem : Problem
        Of the squared loss, its data centred, or of a loss with a curvature, no target of it
        constant. Without a ridge nothing is proven with a curvature; with the squared loss there
        is a bound only if n > d and the columns are independent, and otherwise all choices of
        features are tried, if they are few.
    known : Fit
        A choice to start from.
    options : Options
        How the proof goes.
    search : callable
        Returns a choice that is as good or better, and its objective; called once, unless the
        first one is proven by a few nodes.
    candidates : Candidates, optional
        Those of the problem with another k, as :func:`candidates_of` makes them.

    Returns
    -------
    Proven
        With a bound of 0 where nothing can be proven.
    """
    # A bound that overflows is discarded where it is computed.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        choices = problem.choices
        if options.listing is not None and choices.groups is None:
            same_scale = problem.ridge > 0
            choices = replace(choices, copies=copies(problem.loss.design, same_scale=same_scale))
        choices, implied = _distinct(problem, choices)
        has_places = choices.k + implied.size == problem.choices.k
        if candidates is None:
            candidates = _candidates(replace(problem, choices=choices))
        else:
            candidates = candidates.with_k(choices.k)
        prover = Prover(
            choices,
            candidates,
            implied,
            has_places,
            options,
            search,
            known.support,
            known.objective,
        )
        return prover.run()


def candidates_of(problem: Problem) -> Candidates:
    """What the proofs of several k share: the candidates of a problem, whatever its k is."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _candidates(replace(problem, choices=_distinct(problem, problem.choices)[0]))


def _distinct(problem: Problem, choices: Choices) -> tuple[Choices, Index]:
    """The choices of what adds to a fit, and what is fixed and adds nothing."""
    if problem.ridge == 0 and choices.groups is None:
        return without_copies(choices, problem.loss.design)
    return choices, np.zeros(0, dtype=np.intp)


def _candidates(problem: Problem) -> Candidates:
    """What a proof needs to know of a problem, by its loss."""
    if isinstance(problem.loss, NewtonLoss):
        return ColumnCandidates.from_loss(problem.loss, problem.ridge, problem.choices)
    if isinstance(problem.loss, SquaredLoss):
        candidates = GramCandidates.from_loss(problem.loss, problem.ridge, problem.choices)
        return candidates.with_uniform_diagonal()
    raise TypeError(
        f"{type(problem.loss).__name__} has no proof: it is neither the squared loss nor a "
        "NewtonLoss, whose dual points bound all choices."
    )


def without_copies(choices: Choices, design: Design) -> tuple[Choices, Index]:
    """Choices of columns for a fit without a ridge, to which zeros and copies add nothing.

    Columns of zeros and all but one of equal columns are barred. The second result are those that
    are fixed; they take a place each and do not count in ``k`` any more. If there are fewer
    columns left than places, all of them are chosen.
    """
    pool = np.setdiff1d(np.arange(choices.n_units), choices.barred)
    # Fixed ones come first, so that of equal columns they are kept.
    kept = _representatives(design, np.concatenate([choices.fixed, pool]))
    fixed, pool = (np.unique(kept[part]) for part in (choices.fixed, pool))
    fixed, pool = fixed[fixed >= 0], pool[pool >= 0]
    implied = np.setdiff1d(choices.fixed, fixed)
    barred = np.setdiff1d(np.arange(choices.n_units), pool)
    k = min(choices.k - implied.size, pool.size)
    return replace(choices, k=k, fixed=fixed, barred=barred), implied


def copies(design: Design, *, same_scale: bool) -> Index:
    """For every column the first one that is a copy of it: equal up to its sign, or zero as well.

    Without ``same_scale`` also up to a power of two. Where the columns are not known, only
    columns of zeros are copies; where rounding decides which are zero, none are.
    """
    if design.is_unsure:
        return np.arange(design.shape[1])
    first, norms = _representatives(design, np.arange(design.shape[1])), design.column_norms()
    if same_scale:
        # Another scale is another power of two; rounding may change the last digits of a norm.
        equal = np.abs(norms - norms[first]) < 0.25 * norms
        first = np.where(equal, first, np.arange(first.size))
    zeros = np.flatnonzero(norms == 0)
    first[zeros] = zeros[:1]
    return first


def _representatives(design: Design, features: Index) -> Index:
    """For every column, the first of these features with the same direction; -1 for zeros.

    Where the columns are not known, each is the first.
    """
    representative = np.arange(design.shape[1])
    norms = design.column_norms()
    seen: dict[bytes, int] = {}
    for j in features.tolist():
        if norms[j] == 0:
            representative[j] = -1
        elif design.has_stored_columns:
            key = direction_key(design.stored_columns(np.array([j]))[:, 0])
            representative[j] = seen.setdefault(key, j)
    return representative


@dataclass
class Prover:
    """Proves what it can of one choice.

    Parameters
    ----------
    choices : Choices
        What may be chosen.
    candidates : Candidates
        What is known of them.
    implied : array of int
        Columns that are chosen too, but add nothing.
    has_places : bool
        Whether every choice has as many columns with them as were asked for; if not, none is
        better than one that has.
    options, search
        As in :func:`prove`.
    support, objective : array of int and float
        The best choice so far.
    nodes : int
        Those of finished searches.
    known_bound : float
        The best bound reported.
    """

    choices: Choices
    candidates: Candidates
    implied: Index
    has_places: bool
    options: Options
    search: Callable[[], tuple[Index, float]]
    support: Index
    objective: float
    nodes: int = 0
    known_bound: float = 0.0

    def run(self) -> Proven:
        """By branch and bound, with better bounds if it takes long; or by trying all."""
        proof = self._proven()
        shares = proof.diagonal
        if shares is not None and not np.all((shares > 0) & (shares <= 1)):
            # Squares beyond the range of floats: nothing is known.
            open_ = [Step(Kind.OPEN)]
            proof = replace(proof, lower_bound=0.0, root_bound=0.0, steps=open_, diagonal=None)
            proof = replace(proof, others=0.0)
        return proof if self.options.listing is None else self._listed(proof, self.options.listing)

    def _listed(self, proof: Proven, listing: Listing) -> Proven:
        """A proof with the choices that it lists, from their columns; the best one is the first."""
        proof = self._of_pool(proof)
        best = self._units_of(proof.support)
        found = {one.units: one for one in proof.listed}
        first = found.pop(best, Listed(best, proof.objective, proof.objective))
        # What is lower than the best objective by rounding is as low.
        fitted = [
            replace(one, objective=max(self._objective_of(one), proof.objective))
            for one in found.values()
        ]
        fitted.sort(key=lambda one: (one.objective, one.units))
        ordered = [replace(first, objective=proof.objective), *fitted]
        least = listing.limit(proof.objective)
        kept = [one for one in ordered if one.least < least or one.units == best]
        kept = kept[: listing.max_choices]
        names = {one.units for one in kept}
        others = min([proof.others, *(one.least for one in ordered if one.units not in names)])
        lower = min([proof.lower_bound, *(one.least for one in kept)])
        return replace(
            proof,
            listed=tuple(kept),
            others=max(others, 0.0),
            lower_bound=max(lower, 0.0),
            copies=self.choices.copies,
        )

    def _of_pool(self, proof: Proven) -> Proven:
        """The proof for the best choice without columns that add nothing, if there is one.

        Choices that differ only in these columns are not known: then the others have no bound.
        """
        units = np.unique(self.choices.owner[proof.support])
        free = np.setdiff1d(np.arange(self.choices.n_units), self.choices.barred)
        if not self.has_places:
            # All columns that differ, and copies of them.
            distinct = self._completed(free)
            copies = np.setdiff1d(units, distinct)[: units.size - distinct.size]
            support, objective = np.union1d(distinct, copies), self.candidates.objective(free)
            return replace(proof, support=support, objective=objective, others=0.0)
        chosen = np.setdiff1d(self.choices.canonical(units), self.choices.barred)
        missing = self.choices.k - np.setdiff1d(chosen, self.implied).size
        if missing <= 0:
            return proof
        filled = np.union1d(chosen, np.setdiff1d(free, chosen)[:missing])
        support = self._completed(self.choices.columns(tuple(filled.tolist())))
        return replace(proof, support=support, objective=self._refit(filled))

    def _units_of(self, support: Index) -> tuple[int, ...]:
        """What is chosen with these columns: of copies the first ones."""
        units = np.unique(self.choices.owner[support])
        chosen = self._completed(self.choices.canonical(units))
        return tuple((units if chosen.size < units.size else chosen).tolist())

    def _objective_of(self, one: Listed) -> float:
        columns = self.choices.columns(one.units)
        return self._refit(np.setdiff1d(columns, self.implied))

    def _proven(self) -> Proven:
        if not self.candidates.has_bounds:
            self.support, self.objective = self.search()
            return self._enumerated() or self._result(0.0, [Step(Kind.OPEN)])
        tree = self._tree(self.candidates)
        tree.run_or_search(self.search, max_nodes=self.candidates.patience)
        proof = self._concluded(tree, self.candidates)
        try:
            if not tree.complete and not tree.stopped:
                tree, proof = self._continued(tree, proof)
            if tree.complete and not self._is_proven(proof):
                # No node is left, and the gap is rounding error.
                self.nodes = proof.nodes
                proof = self._better(proof, self._enumerated())
        except KeyboardInterrupt:
            if not self.options.keep_on_interrupt:
                raise
        return proof

    def _is_proven(self, proof: Proven) -> bool:
        """Whether the bound of a proof is not short of what was asked for by its rounding."""
        listing, slack = self.options.listing, self.options.gap_tol
        if listing is None:
            return proof.is_optimal(slack)
        least = listing.limit(proof.objective)
        if len(proof.listed) == listing.max_choices:
            least = min(least, max(one.objective for one in proof.listed))
        return proof.others >= (1.0 - slack) * least

    def _continued(self, first: Tree, proof: Proven) -> tuple[Tree, Proven]:
        """Start again with better bounds if there are any, else resume the first search."""
        better = self.candidates.tightened(self.objective, self.options.deadline)
        if better is None:
            first.run()
            return first, self._concluded(first, self.candidates)
        self.nodes = proof.nodes
        second = self._tree(better)
        second.run()
        return second, self._better(proof, self._concluded(second, better))

    def _better(self, proof: Proven, other: Proven | None) -> Proven:
        """Of two proofs the one with the higher bound, for the best choice of both."""
        if other is None:
            return proof
        best = max(other, proof, key=lambda p: (p.lower_bound, p.others))
        nodes = max(other.nodes, proof.nodes)
        root = min(max(other.root_bound, proof.root_bound), best.lower_bound)
        listed = {one.units: one for one in (*proof.listed, *other.listed)}
        return replace(
            best,
            support=other.support,
            objective=other.objective,
            nodes=nodes,
            root_bound=root,
            listed=tuple(listed.values()),
        )

    def _tree(self, candidates: Candidates) -> Tree:
        options = replace(self.options, monitor=self._report)
        canonical = self.choices.canonical
        return Tree(candidates, self.support, self.objective, options, self._refit, canonical)

    def _report(self, objective: float, /, **details: float) -> bool:
        """Pass the progress on to the monitor, with the best bound and all nodes so far."""
        self.known_bound = max(self.known_bound, details["lower_bound"])
        nodes = self.nodes + details["nodes"]
        return self.options.monitor(objective, lower_bound=self.known_bound, nodes=nodes)

    def _refit(self, support: Index) -> float:
        """The objective of a choice from its columns; inf if it has too few of them."""
        return self.candidates.objective(support) if self.has_places else np.inf

    def _completed(self, support: Index) -> Index:
        """A support with the columns that are implied, sorted."""
        return np.union1d(support, self.implied)

    def _concluded(self, tree: Tree, candidates: Candidates) -> Proven:
        """What a search has proven so far."""
        self.support, self.objective = self._completed(tree.support), tree.objective
        result = self._result(tree.lower_bound, tree.steps, tree.root_bound)
        return replace(
            result,
            nodes=self.nodes + tree.nodes,
            diagonal=candidates.shares,
            listed=self._with_implied(tree.listed.values()),
            others=tree.others,
        )

    def _with_implied(self, found: Collection[Listed]) -> tuple[Listed, ...]:
        """Listed choices, of copies the first ones, with the columns that are implied."""
        if not self.has_places:
            return ()
        first = (self.choices.canonical(np.array(one.units, dtype=np.intp)) for one in found)
        completed = (tuple(self._completed(units).tolist()) for units in first)
        return tuple(replace(one, units=u) for one, u in zip(found, completed, strict=True))

    def _result(self, bound: float, steps: list[Step], root_bound: float = np.inf) -> Proven:
        bound = float(np.clip(bound, 0.0, self.objective))
        return Proven(
            np.sort(self.support),
            self.objective,
            bound,
            min(root_bound, bound),
            self.nodes,
            steps,
            None,
        )

    def _enumerated(self) -> Proven | None:
        """The proof by trying all choices; None if there are too many, or the data allow none."""
        found = self.candidates.enumerated(self.options.deadline, self.options.listing)
        if found is None:
            return None
        if found.added is not None:
            support = self.candidates.features[found.added]
            value = self._refit(support)
            if value < self.objective:
                self.support, self.objective = self._completed(support), value
        self.nodes += found.tried
        steps = [Step(found.kind if found.bound > 0 else Kind.OPEN)]
        if found.listed is None:
            return self._result(found.bound, steps)
        names = self.candidates.names
        listed = self._with_implied(
            [
                Listed(tuple(names[added].tolist()), float(value), float(least))
                for added, value, least in zip(*found.listed, strict=True)
            ]
        )
        proof = self._result(min([found.bound, *(one.least for one in listed)]), steps)
        return replace(proof, listed=listed, others=found.bound)
