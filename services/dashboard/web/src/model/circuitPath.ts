// What a request, or a change, wants of a circuit's path: fields of a form, and terms of the API.
import { Metric, type PathTerms, type Terms } from "../gen/millrace/circuits/v1/circuits_pb";
import { scaledDown, scaledUp } from "./decimal";

export interface PathForm {
  /** Milliseconds. */
  delay: string;
  metric: Metric;
  hops: string;
  sids: string;
  /** Routers, in order, and routers to avoid: names between commas or spaces. */
  via: string;
  without: string;
  /** Ids of links that it must not use, and of circuits with which it must share no link and no risk group. */
  withoutLinks: readonly string[];
  apartFrom: readonly string[];
  /** Numbers of administrative groups between commas or spaces. */
  includeAny: string;
  includeAll: string;
  exclude: string;
  /** Numbers of shared risk link groups. */
  excludeRiskGroups: string;
}

export const emptyPath: PathForm = {
  delay: "",
  metric: Metric.UNSPECIFIED,
  hops: "",
  sids: "",
  via: "",
  without: "",
  withoutLinks: [],
  apartFrom: [],
  includeAny: "",
  includeAll: "",
  exclude: "",
  excludeRiskGroups: "",
};

/** Fields that terms and changes of a path have in common. */
type Wants = Omit<PathTerms, "$typeName" | "$unknown">;
export type PathWants = { [K in keyof Wants]: Wants[K] };
export type PathProblems = Partial<Record<keyof PathForm, string>>;

/** Of links, and of segments. */
const mostBound = 255;
const mostVia = 8;
const lastGroup = 63;
const lastRiskGroup = 2 ** 32 - 1;
/** How many names a list may have at the most, as the service has it. */
const mostNames = 100;

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

const whole = (text: string, least: number, most: number): number | undefined => {
  const n = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return n >= least && n <= most ? n : undefined;
};

/** What the form wants of the path, and the fields that are wrong. */
export function wantsOf(form: PathForm): { path: PathWants; problems: PathProblems } {
  const problems: PathProblems = {};
  const names = (field: keyof PathForm, list: string[], most: number) => {
    if (list.length > most) problems[field] = `${list.length} are more than ${most}.`;
    return list;
  };
  const groups = (field: "includeAny" | "includeAll" | "exclude") => {
    const numbers = wordsOf(form[field]).map((word) => whole(word, 0, lastGroup));
    if (numbers.includes(undefined)) problems[field] = `Write numbers from 0 to ${lastGroup}.`;
    return numbers.filter((n) => n !== undefined);
  };
  /** A bound; 0 is none. */
  const most = (field: "hops" | "sids") => {
    if (form[field].trim() === "") return 0;
    const bound = whole(form[field].trim(), 1, mostBound);
    if (bound === undefined) problems[field] = `Write a number from 1 to ${mostBound}.`;
    return bound ?? 0;
  };
  const riskGroups = wordsOf(form.excludeRiskGroups).map((word) => whole(word, 0, lastRiskGroup));
  if (riskGroups.includes(undefined)) problems.excludeRiskGroups = `Write numbers from 0 to ${lastRiskGroup}.`;
  if (riskGroups.length > mostNames) problems.excludeRiskGroups = `${riskGroups.length} are more than ${mostNames}.`;
  const path: PathWants = {
    maxDelayMicroseconds: 0n,
    metric: form.metric,
    maxHops: most("hops"),
    maxSids: most("sids"),
    via: names("via", wordsOf(form.via), mostVia),
    withoutRouters: names("without", wordsOf(form.without), mostNames),
    withoutLinks: names("withoutLinks", [...form.withoutLinks], mostNames),
    apartFrom: names("apartFrom", [...form.apartFrom], mostNames),
    includeAny: groups("includeAny"),
    includeAll: groups("includeAll"),
    exclude: groups("exclude"),
    excludeRiskGroups: riskGroups.filter((n) => n !== undefined),
  };
  if (form.delay.trim() !== "") {
    const delay = scaledUp(form.delay, 3);
    if (delay === undefined) problems.delay = "Write a number such as 2.5.";
    else path.maxDelayMicroseconds = delay;
  }
  const both = path.via.find((name) => path.withoutRouters.includes(name));
  if (both !== undefined) problems.via = `${both} is to be passed and to be avoided.`;
  const contradicts = path.exclude.find((n) => path.includeAll.includes(n));
  if (contradicts !== undefined) problems.exclude = `All links are to be in group ${contradicts}, and none.`;
  return { path, problems };
}

/** The form with what terms want of the path. */
export const pathFormOf = (t: Terms): PathForm => ({
  delay: t.maxDelayMicroseconds > 0n ? scaledDown(t.maxDelayMicroseconds, 3) : "",
  metric: t.metric,
  hops: t.maxHops > 0 ? String(t.maxHops) : "",
  sids: t.maxSids > 0 ? String(t.maxSids) : "",
  via: t.via.join(", "),
  without: t.withoutRouters.join(", "),
  withoutLinks: t.withoutLinks,
  apartFrom: t.apartFrom,
  includeAny: t.includeAny.join(", "),
  includeAll: t.includeAll.join(", "),
  exclude: t.exclude.join(", "),
  excludeRiskGroups: t.excludeRiskGroups.join(", "),
});

/** Whether two forms want the same of a path. */
export const samePath = (a: PathForm, b: PathForm): boolean =>
  JSON.stringify(wantsOf(a).path, bigintText) === JSON.stringify(wantsOf(b).path, bigintText);

const bigintText = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
