// The boards: what each panel asks Prometheus. docs/reference/metrics.md says what each metric counts.

export interface Panel {
  title: string;
  // says is what a reader learns from it.
  says: string;
  // unit is Grafana's name of it.
  unit: string;
  // number shows the last value; else it is a curve.
  number?: boolean;
  // queries are expressions with their legends.
  queries: [string, string][];
}

export interface Board {
  name: string;
  title: string;
  says: string;
  rows: { title: string; panels: Panel[] }[];
}

const window = '[$__rate_interval]';
const rate = (selector: string, by: string) => `sum by (${by}) (rate(${selector}${window}))`;
const p95 = (histogram: string, by = 'le') => `histogram_quantile(0.95, sum by (${by}) (rate(${histogram}_bucket${window})))`;

const flow = 'millrace_collectors_flow_';
const store = 'millrace_services_flowstore_';
const bus = 'millrace_internal_bus_';
const alpha = 'millrace_services_alpha_';
const push = 'millrace_services_push_';
const agent = 'millrace_services_routeragent_';
const vpn = 'millrace_services_vpn_';
const circuits = 'millrace_services_circuits_';

const ingest: Board = {
  name: 'ingest', title: 'ingest', says: 'From exporters to the flow store: what arrives, what is lost, what waits.',
  rows: [
    { title: 'Now', panels: [
      { title: 'Loss', says: 'Objective: below 0.1 %.', unit: 'percentunit', number: true, queries: [['millrace:ingest_loss:ratio_rate5m', '']] },
      { title: 'Records', says: 'Flow records taken.', unit: 'cps', number: true, queries: [['millrace:ingest_records:rate5m', '']] },
      { title: 'Exporters', says: 'Exporters with records in the last 5 min.', unit: 'short', number: true,
        queries: [[`count(sum by (exporter) (rate(${flow}records_total[5m])) > 0)`, '']] },
      { title: 'Waiting', says: 'Flow messages that the flow store has not taken.', unit: 'short', number: true,
        queries: [[`sum(${bus}lag_messages{topic="millrace.flows.v1"})`, '']] },
    ] },
    { title: 'Collectors', panels: [
      { title: 'Records by exporter', says: 'Flow records taken.', unit: 'cps', queries: [[rate(`${flow}records_total`, 'exporter'), '{{exporter}}']] },
      { title: 'Datagrams by exporter', says: 'Datagrams taken.', unit: 'pps', queries: [[rate(`${flow}datagrams_total`, 'exporter'), '{{exporter}}']] },
      { title: 'Dropped, by reason', says: 'Datagrams, sets or records that were dropped, and datagrams for which the kernel had no room.', unit: 'cps',
        queries: [[rate(`${flow}drops_total`, 'reason'), '{{reason}}'], [`sum(rate(${flow}socket_drops_total${window}))`, 'socket']] },
      { title: 'Missing by sequence number', says: 'What exporters sent and nobody received.', unit: 'short',
        queries: [[`sum by (exporter) (${flow}lost)`, '{{exporter}}']] },
    ] },
    { title: 'Bus and flow store', panels: [
      { title: 'Held in memory', says: 'A publisher waits where a group reaches its bound.', unit: 'bytes', queries: [[`sum by (topic, group) (${bus}held_bytes)`, '{{topic}} {{group}}']] },
      { title: 'Messages waiting', says: 'Messages that a group has not taken.', unit: 'short', queries: [[`sum by (topic, group) (${bus}lag_messages)`, '{{topic}} {{group}}']] },
      { title: 'Rows inserted', says: 'By table.', unit: 'cps', queries: [[rate(`${store}rows_total`, 'table'), '{{table}}']] },
      { title: 'Insert time, 95th percentile', says: 'By table.', unit: 's', queries: [[p95(`${store}insert_seconds`, 'le, table'), '{{table}}']] },
      { title: 'Inserts that failed', says: 'They are repeated; nothing is lost.', unit: 'cps', queries: [[rate(`${store}insert_errors_total`, 'table'), '{{table}}']] },
      { title: 'Delivered again', says: 'A handler returned an error.', unit: 'cps', queries: [[rate(`${bus}redelivered_total`, 'topic, group'), '{{topic}} {{group}}']] },
    ] },
  ],
};

const nightlyRuns: Board = {
  name: 'nightly-runs', title: 'nightly runs', says: 'Nightly runs: when, how long, what they found.',
  rows: [
    { title: 'Now', panels: [
      { title: 'Flows judged up to', says: 'Objective: less than 26 h ago.', unit: 's', number: true, queries: [['millrace:nightly_run_age:seconds', 'ago']] },
      { title: 'Pairs in force', says: 'After the last run of this process.', unit: 'short', number: true, queries: [[`max(${alpha}pairs)`, '']] },
      { title: 'Exporters refused', says: 'By the collection-quality gate, in the last run.', unit: 'short', number: true, queries: [[`max(${alpha}refused_exporters)`, '']] },
      { title: 'Pairs without a plan', says: '`millrace policy plan` says why.', unit: 'short', number: true, queries: [['max(millrace_services_policy_skipped_pairs)', '']] },
    ] },
    { title: 'Runs', panels: [
      { title: 'Runs in a day', says: 'By result.', unit: 'short', queries: [[`sum by (result) (increase(${alpha}runs_total[1d]))`, '{{result}}']] },
      { title: 'How long a run took', says: 'Mean of a day.', unit: 's',
        queries: [[`sum(increase(${alpha}run_seconds_sum[1d])) / sum(increase(${alpha}run_seconds_count[1d]))`, 'mean']] },
      { title: 'Pairs added, refreshed, aged out', says: 'In a day.', unit: 'short', queries: [[`sum by (change) (increase(${alpha}pair_changes_total[1d]))`, '{{change}}']] },
      { title: 'Flow sums above the threshold', says: 'Read from the flow store in a day, and those that could not be read.', unit: 'short',
        queries: [[`sum(increase(${alpha}sums_total[1d]))`, 'read'], [`sum(increase(${alpha}invalid_sums_total[1d]))`, 'invalid']] },
    ] },
  ],
};

const changes: Board = {
  name: 'change-sets', title: 'change sets', says: 'What is being changed on routers, how it ends, and what differs afterwards.',
  rows: [
    { title: 'Now', panels: [
      { title: 'Verified in a day', says: 'Objective: 99 %.', unit: 'percentunit', number: true, queries: [['millrace:change_set_success:ratio_increase1d', '']] },
      { title: 'Duration, 95th percentile', says: 'Objective: 15 min.', unit: 's', number: true, queries: [['millrace:change_set_duration:p95_1d', '']] },
      { title: 'Routers that differ', says: 'From what change sets left on them.', unit: 'short', number: true, queries: [[`sum(${push}drift)`, '']] },
      { title: 'Circuits on time in a day', says: 'Objective: every one.', unit: 'percentunit', number: true, queries: [['millrace:circuits_on_time:ratio_increase1d', '']] },
    ] },
    { title: 'Change sets', panels: [
      { title: 'Entered a state, in an hour', says: 'By state.', unit: 'short', queries: [[`sum by (state) (increase(${push}transitions_total[1h]))`, '{{state}}']] },
      { title: 'Commits by router', says: 'Sent to routers in an hour, by result.', unit: 'short',
        queries: [[`sum by (router, result) (increase(${push}commits_total[1h]))`, '{{router}} {{result}}']] },
      { title: 'Readings of routers', says: 'After their change set, in an hour.', unit: 'short', queries: [[`sum by (result) (increase(${push}readings_total[1h]))`, '{{result}}']] },
      { title: 'Plans and diffs in etcd', says: 'Beside the size of the database and its quota.', unit: 'bytes',
        queries: [[`max(${push}plans_bytes)`, 'plans'], ['max by (what) (millrace_internal_state_etcd_bytes)', 'etcd {{what}}']] },
    ] },
    { title: 'Circuits', panels: [
      { title: 'Circuits by state', says: 'In the book now.', unit: 'short', queries: [[`max by (state) (${circuits}circuits)`, '{{state}}']] },
      { title: 'Requests', says: 'In an hour, by answer.', unit: 'short', queries: [[`sum by (answer) (increase(${circuits}requests_total[1h]))`, '{{answer}}']] },
    ] },
  ],
};

const perQueue = 'instance, interface, queue';
const queues: Board = {
  name: 'queues', title: "routers' queues", says: 'What each queue of a router sends, drops and holds; read by the agents of FRR routers.',
  rows: [
    { title: 'Queues', panels: [
      { title: 'Sent', says: 'By queue.', unit: 'Bps', queries: [[rate(`${agent}queue_bytes_total`, perQueue), '{{instance}} {{interface}} {{queue}}']] },
      { title: 'Dropped', says: 'By queue.', unit: 'pps', queries: [[rate(`${agent}queue_drops_total`, perQueue), '{{instance}} {{interface}} {{queue}}']] },
      { title: 'In the queue', says: 'Octets that wait.', unit: 'bytes', queries: [[`sum by (${perQueue}) (${agent}queue_backlog_bytes)`, '{{instance}} {{interface}} {{queue}}']] },
      { title: 'Dropped, share of packets', says: 'By queue.', unit: 'percentunit',
        queries: [[`${rate(`${agent}queue_drops_total`, perQueue)} / (${rate(`${agent}queue_packets_total`, perQueue)} + ${rate(`${agent}queue_drops_total`, perQueue)} > 0)`,
          '{{instance}} {{interface}} {{queue}}']] },
    ] },
    { title: 'Agents', panels: [
      { title: 'Router differs from its configuration', says: '1 while it does.', unit: 'short', queries: [[`max by (instance) (${agent}drift)`, '{{instance}}']] },
      { title: 'gNMI calls', says: 'By method and code.', unit: 'reqps', queries: [[rate(`${agent}calls_total`, 'instance, method, code'), '{{instance}} {{method}} {{code}}']] },
    ] },
  ],
};

const perFlow = '{{vpn}} {{ingress}} to {{egress}}';
const fairness: Board = {
  name: 'vpn-fairness', title: 'VPN fairness', says: "Paper 001's fairness of VPN flows in the core, and each flow beside its share.",
  rows: [
    { title: 'Fairness', panels: [
      { title: 'Fairness', says: 'F of paper 001 (weighted), and Jain’s index; 1 is fair.', unit: 'percentunit',
        queries: [[`max(${vpn}fairness_ratio)`, 'F'], [`max(${vpn}jain_ratio)`, "Jain's"]] },
      { title: 'PEs', says: 'Connected, and without the weights in force.', unit: 'short',
        queries: [[`sum(${vpn}pe_connected)`, 'connected'], [`max(${vpn}pes_outdated)`, 'outdated']] },
    ] },
    { title: 'Flows', panels: [
      { title: 'Throughput', says: 'By VPN flow.', unit: 'Bps', queries: [[`${vpn}flow_throughput_bytes_per_second`, perFlow]] },
      { title: 'Throughput over fair share', says: '1 is the fair share.', unit: 'percentunit',
        queries: [[`${vpn}flow_throughput_bytes_per_second / (${vpn}flow_fair_share_bytes_per_second > 0)`, perFlow]] },
      { title: 'Round-trip time', says: 'Smoothed.', unit: 's', queries: [[`${vpn}flow_rtt_seconds`, perFlow]] },
      { title: 'Loss', says: 'Loss events per packet.', unit: 'percentunit', queries: [[`${vpn}flow_loss_ratio`, perFlow]] },
      { title: 'Queue at the ingress PE', says: 'Octets.', unit: 'bytes', queries: [[`${vpn}flow_queue_bytes`, perFlow]] },
      { title: 'Window', says: 'Packets.', unit: 'short', queries: [[`${vpn}flow_window_packets`, perFlow]] },
    ] },
  ],
};

const platform: Board = {
  name: 'platform', title: 'platform', says: 'Processes of Millrace: up, ready, which build, how much memory and processor time.',
  rows: [
    { title: 'Now', panels: [
      { title: 'Processes up', says: 'That answer Prometheus.', unit: 'short', number: true, queries: [['sum(up{job=~"millrace.*"})', '']] },
      { title: 'Dependencies not ready', says: '`/ready` has the reason.', unit: 'short', number: true,
        queries: [['count(millrace_internal_monitor_dependency_ready == 0) or vector(0)', '']] },
      { title: 'Builds', says: 'More than one is an upgrade under way.', unit: 'short', number: true, queries: [['count(count by (version, commit) (millrace_build_info))', '']] },
      { title: 'Age of the topology', says: 'Objective: below 15 min.', unit: 's', number: true, queries: [['millrace:topology_age:seconds', '']] },
    ] },
    { title: 'Processes', panels: [
      { title: 'Ready', says: '1 while a dependency does its work.', unit: 'short', queries: [['millrace_internal_monitor_dependency_ready', '{{instance}} {{dependency}}']] },
      { title: 'Memory', says: 'Resident.', unit: 'bytes', queries: [['process_resident_memory_bytes{job=~"millrace.*"}', '{{instance}}']] },
      { title: 'Processor', says: 'Cores in use.', unit: 'short', queries: [[`rate(process_cpu_seconds_total{job=~"millrace.*"}${window})`, '{{instance}}']] },
      { title: 'Goroutines', says: 'A rise that does not end is a leak.', unit: 'short', queries: [['go_goroutines{job=~"millrace.*"}', '{{instance}}']] },
    ] },
    { title: 'Network', panels: [
      { title: 'Routers that answer', says: 'The topology collector, and streams of counters.', unit: 'short',
        queries: [['sum(millrace_collectors_topology_reachable)', 'topology'], ['sum(millrace_collectors_telemetry_connected)', 'counters']] },
      { title: 'Routers and links', says: 'That paths are computed on.', unit: 'short',
        queries: [['max(millrace_services_paths_nodes)', 'routers'], ['max(millrace_services_paths_links)', 'links']] },
      { title: 'Certificates', says: 'Until they expire.', unit: 's', queries: [['millrace_internal_mtls_not_after_timestamp_seconds - time()', '{{instance}} {{use}}']] },
      { title: 'Requests refused', says: 'By reason.', unit: 'reqps', queries: [[rate('millrace_services_dashboard_refused_requests_total', 'reason'), '{{reason}}']] },
    ] },
  ],
};

export const boards: Board[] = [ingest, nightlyRuns, changes, queues, fairness, platform];
