/* Of pages that match alike, those of the guide come first and those on the development last. */
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    page.startsWith("inside/") || page === "changelog" ? score / 10
      : page.startsWith("guide/") || page === "getting_started" ? score + 1
        : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
