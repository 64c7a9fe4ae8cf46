"""The queue: its limit, its time, and who comes first."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
import served
from served import Client

from vericap.serve.app import Service
from vericap.serve.limits import Limits, Refused
from vericap.serve.memory import MemoryCache
from vericap.serve.worker import Worker


async def here() -> bool:
    return False


async def gone() -> bool:
    return True


def test_more_than_may_wait_are_refused() -> None:
    worker, go = Worker(2), threading.Event()
    first = worker.submit(go.wait)
    while worker.waiting:
        time.sleep(0.01)
    waiting = [worker.submit(lambda: 7) for _ in range(2)]
    with pytest.raises(Refused, match="2 requests wait") as refused:
        worker.submit(lambda: 8)
    assert (refused.value.status, refused.value.retry >= 1) == (503, True)
    go.set()
    assert first.result(5)
    assert [future.result(5) for future in waiting] == [7, 7]
    worker.close()


def test_requests_come_before_pieces_of_batches() -> None:
    worker, go, order = Worker(9), threading.Event(), []
    worker.submit(go.wait)
    pieces = [worker.submit(lambda: order.append("piece"), later=True) for _ in range(2)]
    request = worker.submit(lambda: order.append("request"))
    go.set()
    for future in (*pieces, request):
        future.result(5)
    assert order == ["request", "piece", "piece"]
    worker.close()


@pytest.mark.parametrize(("there", "status"), [(here, 503), (gone, 499)])
def test_who_waits_too_long_or_has_gone_costs_no_work(there: object, status: int) -> None:
    worker, go, done = Worker(9), threading.Event(), []
    worker.submit(go.wait)
    with pytest.raises(Refused) as refused:
        asyncio.run(worker.answer(lambda: done.append(1), 0.4, there))  # type: ignore[arg-type]
    assert refused.value.status == status
    go.set()
    worker.submit(lambda: None).result(5)
    assert not done
    worker.close()


def test_an_error_is_the_caller_s_and_the_worker_lives() -> None:
    worker = Worker(9)

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        worker.submit(fail).result(5)
    assert worker.submit(lambda: 3).result(5) == 3
    worker.close()
    with pytest.raises(Refused, match="shutting down"):
        worker.submit(lambda: 3)


def test_a_full_queue_is_a_503_with_retry_after() -> None:
    service, go = Service(Limits(waiting=1)), threading.Event()
    with served.serving(service, warm=True) as client:
        service.worker.submit(go.wait)
        while service.worker.waiting:
            time.sleep(0.01)
        service.worker.submit(lambda: None)
        answer = client.post("/score", ("caption", "a dog"), ("references", "a dog"), ("metrics", "rouge-l"))
        assert (answer.status, "wait already" in answer.error) == (503, True)
        assert int(answer.headers["retry-after"]) >= 1
        assert client.get("/health").status == 200
        go.set()


def test_twenty_clients_at_once(client: Client) -> None:
    """The short form of benchmarks/speed/serve_load.py."""
    answers: list[int] = []

    def ask(number: int) -> None:
        for turn in range(3):
            caption = f"client {number} sees a cup of coffee {turn} times"
            answers.append(client.post("/check", served.photo(), ("caption", caption)).status)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 60


def test_memory_has_a_limit() -> None:
    kept = MemoryCache(10_000)
    for number in range(100):
        kept.write("photos", [(str(number), bytes(800))])
        kept.read("photos", ["0"])  # what is used stays
        assert kept.size() <= 10_000
    assert set(kept.read("photos", [str(number) for number in range(100)])) >= {"0", "99"}
    assert kept.read("photos", ["1"]) == {}
    assert kept.read("texts", ["0"]) == {}


def test_a_known_photo_is_not_looked_at_again() -> None:
    from vericap.run import photos
    from vericap.serve.judge import Judge, sample_of

    judge = Judge()
    data = served.PHOTOS.joinpath("china.jpg").read_bytes()
    metrics = judge.usual(sample_of("a temple", (), data), "en")
    judge.explain(sample_of("a temple", (), data), metrics, "en")
    before = photos.decoded
    judge.explain(sample_of("a red temple by a lake", (), data), metrics, "en", full=True)
    assert photos.decoded == before
