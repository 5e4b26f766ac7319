"""What the page of Nie et al. (2010) computes."""

import pytest

from reproduction import nie2010


def test_the_printed_averages_are_those_of_the_printed_numbers():
    for k in nie2010.TABLE_KS:
        for *values, average in (nie2010.PRINTED[f"top{k}"][m] for m in (*nie2010.RIVALS, "rfs")):
            assert sum(values) / 6 == pytest.approx(average, abs=0.02)


def test_leads_are_those_over_the_best_and_the_worst_rival():
    cells = {
        (method, "honest", "allaml", 20): [value]
        for method, value in (("relieff", 0.9), ("mrmr", 0.8), ("rfs gamma 1", 0.95))
    }
    lines = {line[0]: line[1:] for line in nie2010.leads(cells)}
    assert lines["ALLAML"] == ["+2.7 to +6.8", "–", "+5.0 to +15.0"]
    assert lines["average"] == ["+4.4 to +12.2", "–", "–"]
    assert lines["Pro-GE"][0] == "+0.0 to +2.9"
    # "Level on two and within three points on two more", as the page says of the best rival.
    best = {name: float(line[0].partition(" ")[0]) for name, line in lines.items()}
    assert [name for name, lead in best.items() if lead == 0.0] == ["Pro-GE", "Pro-MS"]
    assert [name for name, lead in best.items() if 0.0 < lead <= 3.0] == ["ALLAML", "LUNG"]


def test_a_cell_agrees_within_two_standard_deviations_of_the_repetitions():
    # Printed is 95.89; the deviation of three values is that of a sample, 2 points.
    found = [
        nie2010.agreement(
            {("rfs gamma 1", "honest", "allaml", 20): [mean - 0.02, mean, mean + 0.02]}
        )
        for mean in (0.92, 0.918)
    ]
    assert [cell[0][-1] for cell in found] == [True, False]
