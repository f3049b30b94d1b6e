"""`benchmarks/draft_placement.py` on two operators."""

from __future__ import annotations


def test_padding_is_placed_by_rule_and_a_matmul_has_none(import_script):
    script = import_script("draft_placement")
    rows = script.rows_of("conv1d-n1-l256-ci64-co128-k3-s2-p1", programs=2)
    assert {row[1] for row in rows} == {"all", "placed"}
    for _, _, programs, replay_ms, rule_ms, ratio in rows:
        assert programs > 0 and replay_ms > 0.0 and rule_ms > 0.0
        assert ratio == rule_ms / replay_ms
    rows = script.rows_of("matmul-b1-m512-n512-k512", programs=1)
    assert [row[1] for row in rows] == ["all"]
