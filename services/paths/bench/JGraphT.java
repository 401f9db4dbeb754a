import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Scanner;
import org.jgrapht.Graph;
import org.jgrapht.alg.shortestpath.DijkstraShortestPath;
import org.jgrapht.alg.shortestpath.YenKShortestPath;
import org.jgrapht.graph.DefaultWeightedEdge;
import org.jgrapht.graph.DirectedWeightedMultigraph;

/**
 * Solves tasks of services/paths/bench with JGraphT, which OSCARS computes its paths with, and times nothing but the
 * solving. Each task is solved three times and the last one counts: before that the virtual machine interprets.
 *
 * <p>Usage: java -cp 'JARS/*' JGraphT.java TASK. TASK is a file of numbers: routers, k, links; then from, to and metric
 * of each link; then pairs, and from and to of each pair. Prints a list of {task, program, threads, count, cost_sum,
 * seconds, cpu_seconds}.
 */
public class JGraphT {
  private static final int PASSES = 3;

  private final Graph<Integer, DefaultWeightedEdge> graph = new DirectedWeightedMultigraph<>(DefaultWeightedEdge.class);
  private final List<int[]> pairs = new ArrayList<>();
  private final int nodes;
  private final int k;

  private JGraphT(Scanner in) {
    nodes = in.nextInt();
    k = in.nextInt();
    for (int n = 0; n < nodes; n++) {
      graph.addVertex(n);
    }
    for (int links = in.nextInt(); links > 0; links--) {
      DefaultWeightedEdge edge = graph.addEdge(in.nextInt(), in.nextInt());
      graph.setEdgeWeight(edge, in.nextLong());
    }
    for (int left = in.nextInt(); left > 0; left--) {
      pairs.add(new int[] {in.nextInt(), in.nextInt()});
    }
  }

  private double kShortest() {
    double sum = 0;
    for (int[] pair : pairs) {
      for (var path : new YenKShortestPath<>(graph).getPaths(pair[0], pair[1], k)) {
        sum += path.getWeight();
      }
    }
    return sum;
  }

  private double allPairs() {
    double sum = 0;
    for (int from = 0; from < nodes; from++) {
      var tree = new DijkstraShortestPath<>(graph).getPaths(from);
      for (int to = 0; to < nodes; to++) {
        double cost = tree.getWeight(to);
        sum += Double.isInfinite(cost) ? 0 : cost;
      }
    }
    return sum;
  }

  private interface Task {
    double solve();
  }

  private static String row(String name, int count, Task task) {
    var bean = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    String row = "";
    for (int pass = 0; pass < PASSES; pass++) {
      long start = System.nanoTime();
      long used = bean.getProcessCpuTime();
      double sum = task.solve();
      double seconds = (System.nanoTime() - start) / 1e9;
      double cpu = (bean.getProcessCpuTime() - used) / 1e9;
      row = String.format(Locale.ROOT,
          "{\"task\":\"%s\",\"program\":\"jgrapht\",\"threads\":1,\"count\":%d,\"cost_sum\":%.0f,\"seconds\":%.9f,\"cpu_seconds\":%.9f}",
          name, count, sum, seconds, cpu);
    }
    return row;
  }

  public static void main(String[] args) throws IOException {
    JGraphT work;
    try (Scanner in = new Scanner(Files.newBufferedReader(Path.of(args[0])))) {
      work = new JGraphT(in);
    }
    System.out.println("[" + row("k shortest, sample", work.pairs.size(), work::kShortest) + ","
        + row("all-pairs SPF", 1, work::allPairs) + "]");
  }
}
