"""Twin of native/transport.c in plain Python: the same algorithm, the same results."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from vericap.text.bags import Bags

Floats = NDArray[np.float64]


def solve(cost: Floats, a: Floats, b: Floats) -> tuple[float, Floats]:
    """Least cost of moving masses a onto masses b, and the plan, by successive shortest paths."""
    m, n = len(a), len(b)
    if m == 1 or n == 1:  # one way only
        flow = np.asarray(b[None, :] if m == 1 else a[:, None], dtype=np.float64)
        return float((flow * cost).sum()), flow.copy()
    mass = float(a.sum())
    problem = _Problem(cost.tolist(), a.tolist(), b.tolist(), 1e-14 * mass)
    for _ in range(64 * (m + n) ** 2):
        if sum(problem.supply) <= 1e-12 * mass or sum(problem.demand) <= 1e-12 * mass:
            break
        goal = problem.shortest()
        if goal < 0:
            break
        problem.send(goal)
    else:
        raise ArithmeticError("optimal transport did not end; are the masses finite?")
    flow = np.array(problem.flow)
    return float((flow * cost).sum()), flow


class _Problem:
    """Masses still to move, what was sent, node potentials; nodes are m sources, then n sinks."""

    def __init__(self, cost: list[list[float]], supply: list[float], demand: list[float], eps: float) -> None:
        self.cost, self.supply, self.demand, self.eps = cost, supply, demand, eps
        self.m, self.n = len(supply), len(demand)
        self.flow = [[0.0] * self.n for _ in range(self.m)]
        self.potential = [0.0] * (self.m + self.n)
        self.parent: list[int] = []
        self.start()

    def start(self) -> None:
        """Every sink takes what its cheapest source has: edges at reduced cost 0, part of an optimal plan."""
        for j in range(self.n):
            near = min(range(self.m), key=lambda i: self.cost[i][j])
            self.potential[self.m + j] = self.cost[near][j]
            amount = min(self.supply[near], self.demand[j])
            self.flow[near][j] = amount
            self.supply[near] = self._less(self.supply[near], amount)
            self.demand[j] = self._less(self.demand[j], amount)

    def shortest(self) -> int:
        """Cheapest way from a source with mass to a sink with room: that sink, or -1.

        An edge that carries mass has reduced cost 0, so a full sink passes its distance on to the sources that
        fill it, and only sinks need a queue.
        """
        m, total = self.m, self.m + self.n
        distance, waiting = [math.inf] * total, set(range(m, total))
        self.parent, reached = [-1] * total, [v for v in range(m) if self.supply[v] > self.eps]
        for i in reached:
            self._reach(i, 0.0, distance, waiting)
        while True:
            best = min(waiting, key=lambda v: (distance[v], v), default=-1)
            if best < 0 or distance[best] == math.inf:
                return -1
            waiting.discard(best)
            reached.append(best)
            if self.demand[best - m] > self.eps:
                break
            for i in range(m):
                if distance[i] == math.inf and self.flow[i][best - m] > 0.0:
                    self.parent[i] = best
                    reached.append(i)
                    self._reach(i, distance[best], distance, waiting)
        for v in reached:
            self.potential[v] += distance[v] - distance[best]
        return best

    def _reach(self, i: int, near: float, distance: list[float], waiting: set[int]) -> None:
        """Reach further sinks from source i, which lies at distance `near`."""
        distance[i] = near
        base, row = near + self.potential[i], self.cost[i]
        for v in waiting:
            there = base + row[v - self.m] - self.potential[v]
            if there < distance[v]:
                distance[v] = max(there, near)  # never below: rounding only
                self.parent[v] = i

    def send(self, goal: int) -> None:
        """As much as fits along the way just found."""
        way = [goal]
        while self.parent[way[-1]] >= 0:
            way.append(self.parent[way[-1]])
        back = [(v, way[k + 1] - self.m) for k, v in enumerate(way[:-1]) if v < self.m]
        room = [self.flow[i][j] for i, j in back]
        amount = min([self.demand[goal - self.m], self.supply[way[-1]], *room])
        self.supply[way[-1]] = self._less(self.supply[way[-1]], amount)
        self.demand[goal - self.m] = self._less(self.demand[goal - self.m], amount)
        for i, j in back:
            self.flow[i][j] = self._less(self.flow[i][j], amount)
        for k, v in enumerate(way[:-1]):
            if v >= self.m:
                self.flow[way[k + 1]][v - self.m] += amount

    def _less(self, value: float, amount: float) -> float:
        return value - amount if value - amount > self.eps else 0.0


def costs(vectors: NDArray[np.float32], left: Bags, right: Bags, problem: int, *, p: float) -> Floats:
    """|s_i x_i - s_j x_j|^p between the words of one problem."""
    a, b = left.span(problem), right.span(problem)
    x = vectors[left.ids[a]] * left.scales[a, None].astype(np.float32)
    y = vectors[right.ids[b]] * right.scales[b, None].astype(np.float32)
    square = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2, dtype=np.float64)
    return np.asarray(square if p == 2 else square ** (p / 2), dtype=np.float64)


def distances(vectors: NDArray[np.float32], left: Bags, right: Bags, *, p: float) -> Floats:
    """Least transport cost of every problem; NaN where a side is empty."""
    out = np.full(len(left), np.nan)
    for k in range(len(left)):
        a, b = left.span(k), right.span(k)
        if a.stop > a.start and b.stop > b.start:
            matrix = costs(vectors, left, right, k, p=p)
            out[k] = solve(matrix, left.weights[a], right.weights[b])[0]
    return out


def penalties(vectors: NDArray[np.float32], words: Bags, reference_offsets: NDArray[np.int64], texts: Bags) -> Floats:
    """rho of every word of every sample (see text.transport.penalties)."""
    out = np.ones(len(words.ids))
    for k in range(len(words)):
        span = words.span(k)
        ids = words.ids[span]
        found = []
        for r in range(reference_offsets[k], reference_offsets[k + 1]):
            other = texts.ids[texts.span(r)]
            if len(other) and len(ids):
                cosine = (vectors[ids].astype(np.float64) @ vectors[other].astype(np.float64).T).clip(-1.0, 1.0)
                cosine[ids[:, None] == other[None, :]] = 1.0
                found.append((1.0 - cosine.max(axis=1)) / 2.0)
        if found:
            out[span] = np.mean(found, axis=0)
    return out
