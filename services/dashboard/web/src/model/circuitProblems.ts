// What the service finds wrong with a request, at the field of the form that it is about.
import type { Refusal } from "../gen/millrace/circuits/v1/circuits_pb";
import type { Field, Problems } from "./circuitForm";

/** Fields of the form by those of the API. */
const fields: Record<string, Field> = {
  project: "project",
  from: "from",
  to: "to",
  rate_bits_per_second: "rate",
  volume_bytes: "volume",
  start: "start",
  end: "end",
  protection: "protection",
  pairs: "pairs",
  description: "description",
  priority: "priority",
  setup_priority: "setup",
  above_soft_cap: "aboveSoftCap",
  max_delay_microseconds: "delay",
  metric: "metric",
  max_hops: "hops",
  max_sids: "sids",
  via: "via",
  without_routers: "without",
  without_links: "withoutLinks",
  apart_from: "apartFrom",
  include_any: "includeAny",
  include_all: "includeAll",
  exclude: "exclude",
  exclude_risk_groups: "excludeRiskGroups",
  max_paths: "paths",
};

/** A refusal that is about a field, in the service's words; none where it is about the whole request. */
export function refusedField(r: Refusal | undefined): Problems {
  if (!r?.field) return {};
  const [name = ""] = /\w+$/.exec(r.field) ?? [];
  const field = fields[name];
  const said = r.reason.startsWith(`${r.field}: `) ? r.reason.slice(r.field.length + 2) : r.reason;
  return field ? { [field]: said } : {};
}
