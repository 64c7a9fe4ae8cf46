"""Pieces of work in threads: all are done, and an error is raised."""

import threading

import pytest

from vericap.run.threads import in_threads


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_piece_is_done_once(workers):
    done = []
    in_threads(done.append, iter(range(50)), workers)
    assert sorted(done) == list(range(50))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_piece_is_raised(workers):
    def work(piece):
        if piece == 3:
            raise ValueError("piece 3")

    with pytest.raises(ValueError, match="piece 3"):
        in_threads(work, range(6), workers)


def test_pieces_run_beside_each_other():
    met = threading.Barrier(2, timeout=20)
    in_threads(lambda _: met.wait(), range(2), 2)  # breaks, and raises, where one waits for the other
