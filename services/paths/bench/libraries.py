"""Solves the tasks of services/paths/bench with networkx, igraph and networkit, and times nothing but the solving.

Usage: python -c SCRIPT TASK.json FEW. Prints a list of {task, program, threads, count, cost_sum, seconds, cpu_seconds}.
"""
import itertools
import json
import sys
import time

import igraph
import networkit
import networkx

with open(sys.argv[1]) as file:
    work = json.load(file)
few = work["pairs"][: int(sys.argv[2])]
nodes, links, pairs, k = work["nodes"], work["links"], work["pairs"], work["k"]
weights = [link[2] for link in links]
rows = []


def row(task, program, threads, count, cost_sum, start):
    end = now()
    rows.append(dict(task=task, program=program, threads=threads, count=count, cost_sum=int(cost_sum()),
                     seconds=end[0] - start[0], cpu_seconds=end[1] - start[1]))


def now():
    return time.perf_counter(), time.process_time()


def with_igraph():
    g = igraph.Graph(n=nodes, edges=[link[:2] for link in links], directed=True)
    start = now()
    found = [g.get_k_shortest_paths(a, b, k=k, weights=weights, output="epath") for a, b in pairs]
    row("k shortest, sample", "igraph " + igraph.__version__, 1, len(pairs),
        lambda: sum(weights[e] for paths in found for path in paths for e in path), start)
    start = now()
    costs = g.distances(weights=weights, mode="out")
    row("all-pairs SPF", "igraph " + igraph.__version__, 1, 1,
        lambda: sum(c for line in costs for c in line if c != float("inf")), start)


def with_networkit():
    g = networkit.Graph(nodes, weighted=True, directed=True)
    for a, b, weight in links:
        g.addEdge(a, b, weight)
    search = networkit.distance.APSP(g)
    start = now()
    search.run()
    row("all-pairs SPF", "networkit " + networkit.__version__, networkit.getMaxNumberOfThreads(), 1,
        lambda: sum(c for line in search.getDistances() for c in line if c < 1e300), start)


def with_networkx():
    name = "networkx " + networkx.__version__
    # A flow of two units over links of capacity 1 is the cheapest link-disjoint pair; parallel links get a node between.
    flow = networkx.DiGraph()
    flow.add_nodes_from(range(nodes))
    for i, (a, b, weight) in enumerate(links):
        flow.add_edge(a, ("link", i), weight=weight, capacity=1)
        flow.add_edge(("link", i), b, weight=0, capacity=1)
    start, total = now(), 0
    for a, b in few:
        networkx.set_node_attributes(flow, 0, "demand")
        flow.nodes[a]["demand"], flow.nodes[b]["demand"] = -2, 2
        try:
            total += networkx.min_cost_flow_cost(flow)
        except networkx.NetworkXUnfeasible:
            pass
    row("link-disjoint pair, sample of 20", name, 1, len(few), lambda: total, start)
    if len({(a, b) for a, b, _ in links}) < len(links):
        return  # its paths are lists of nodes, and know no parallel links
    g = networkx.DiGraph()
    g.add_weighted_edges_from(links)
    g.add_nodes_from(range(nodes))
    start = now()
    found = [list(itertools.islice(networkx.shortest_simple_paths(g, a, b, weight="weight"), k)) if networkx.has_path(g, a, b)
             else [] for a, b in few]
    row("k shortest, sample of 20", name, 1, len(few),
        lambda: sum(networkx.path_weight(g, path, "weight") for paths in found for path in paths), start)


with_igraph()
with_networkit()
with_networkx()
json.dump(rows, sys.stdout)
