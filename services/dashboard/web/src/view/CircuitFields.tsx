import { type ReactNode, useId } from "react";
import { Every, Metric, Protection } from "../gen/millrace/circuits/v1/circuits_pb";
import { type CircuitForm, type Field, type Problems, priorities, rateUnits, volumeUnits } from "../model/circuitForm";
import { useGraph } from "../state/hooks";

interface Props {
  form: CircuitForm;
  by: string;
  problems: Problems;
  onChange: (part: Partial<CircuitForm>) => void;
  onBy: (by: string) => void;
}

/** The fields of a request. */
export function CircuitFields({ form, by, problems, onChange, onBy }: Props) {
  const text = (field: Exclude<Field, "protection" | "metric" | "every">) => ({
    value: form[field],
    onChange: (e: { target: { value: string } }) => onChange({ [field]: e.target.value }),
  });
  const volume = form.kind === "volume";
  const scavenger = form.kind === "scavenger";
  return (
    <div className="fields">
      <Labelled name="Your name">
        {(id) => (
          <input id={id} autoComplete="username" maxLength={60} value={by} onChange={(e) => onBy(e.target.value)} />
        )}
      </Labelled>
      <Labelled name="Project" problem={problems.project}>
        {(id) => <input id={id} maxLength={64} {...text("project")} />}
      </Labelled>
      <Labelled name="From" problem={problems.from}>
        {(id) => <RouterSelect id={id} {...text("from")} />}
      </Labelled>
      <Labelled name="To" problem={problems.to}>
        {(id) => <RouterSelect id={id} {...text("to")} />}
      </Labelled>
      <Labelled name="What">
        {(id) => (
          <select id={id} {...text("kind")}>
            <option value="rate">Rate over the window</option>
            <option value="volume">Volume by a deadline</option>
            <option value="scavenger">What others leave, no rate</option>
          </select>
        )}
      </Labelled>
      {volume && (
        <Labelled name="Volume" problem={problems.volume}>
          {(id) => <Quantity id={id} number={text("volume")} unit={text("volumeUnit")} units={volumeUnits} />}
        </Labelled>
      )}
      {!scavenger && (
        <Labelled name={volume ? "At most" : "Rate"} hint={volume ? "empty: any rate" : ""} problem={problems.rate}>
          {(id) => <Quantity id={id} number={text("rate")} unit={text("rateUnit")} units={rateUnits} />}
        </Labelled>
      )}
      <Labelled name="Start" hint="empty: now" problem={problems.start}>
        {(id) => <input id={id} type="datetime-local" {...text("start")} />}
      </Labelled>
      <Labelled name={volume ? "There by" : "End"} hint={volume ? "" : "empty: open"} problem={problems.end}>
        {(id) => <input id={id} type="datetime-local" {...text("end")} />}
      </Labelled>
      <Labelled name="Again" problem={problems.every}>
        {(id) => (
          <select id={id} value={form.every} onChange={(e) => onChange({ every: Number(e.target.value) as Every })}>
            <option value={Every.UNSPECIFIED}>once</option>
            <option value={Every.DAY}>every day</option>
            <option value={Every.WEEK}>every week</option>
          </select>
        )}
      </Labelled>
      {form.every !== Every.UNSPECIFIED && (
        <Labelled name="Times" hint="2 to 60, all or none" problem={problems.times}>
          {(id) => <input id={id} inputMode="numeric" {...text("times")} />}
        </Labelled>
      )}
      <details className="wide">
        <summary>Protection, delay, traffic</summary>
        <div className="fields">
          {!volume && (
            <Labelled name="Backup">
              {(id) => (
                <select
                  id={id}
                  value={form.protection}
                  onChange={(e) => onChange({ protection: Number(e.target.value) as Protection })}
                >
                  <option value={Protection.UNSPECIFIED}>none</option>
                  <option value={Protection.LINK_DISJOINT}>shares no link</option>
                  <option value={Protection.NODE_DISJOINT}>shares no router</option>
                </select>
              )}
            </Labelled>
          )}
          <Labelled name="Delay" hint="ms at most" problem={problems.delay}>
            {(id) => <input id={id} inputMode="decimal" {...text("delay")} />}
          </Labelled>
          <Labelled name="Priority" hint="0 is first">
            {(id) => <PrioritySelect id={id} {...text("priority")} />}
          </Labelled>
          {!volume && !scavenger && (
            <Labelled name="Displaces later than" hint="setup priority" problem={problems.setup}>
              {(id) => <PrioritySelect id={id} {...text("setup")} />}
            </Labelled>
          )}
          <Labelled name="Description" wide>
            {(id) => <input id={id} maxLength={500} {...text("description")} />}
          </Labelled>
          <Labelled name="Traffic" hint="source and destination prefix, one pair a line" problem={problems.pairs} wide>
            {(id) => <textarea id={id} rows={2} {...text("pairs")} />}
          </Labelled>
        </div>
      </details>
      <details className="wide">
        <summary>More: the path</summary>
        <PathFields form={form} problems={problems} onChange={onChange} />
      </details>
    </div>
  );
}

/** What the path is to be like. */
function PathFields({ form, problems, onChange }: Pick<Props, "form" | "problems" | "onChange">) {
  const text = (field: "hops" | "via" | "without" | "includeAny" | "includeAll" | "exclude") => ({
    value: form[field],
    onChange: (e: { target: { value: string } }) => onChange({ [field]: e.target.value }),
  });
  return (
    <div className="fields">
      <Labelled name="Best by">
        {(id) => (
          <select id={id} value={form.metric} onChange={(e) => onChange({ metric: Number(e.target.value) as Metric })}>
            <option value={Metric.UNSPECIFIED}>IGP metric</option>
            <option value={Metric.TE}>TE metric</option>
            <option value={Metric.DELAY}>delay</option>
            <option value={Metric.HOPS}>number of links</option>
          </select>
        )}
      </Labelled>
      <Labelled name="Links" hint="at most" problem={problems.hops}>
        {(id) => <input id={id} inputMode="numeric" {...text("hops")} />}
      </Labelled>
      <Labelled name="By way of" hint="routers in order" problem={problems.via}>
        {(id) => <input id={id} {...text("via")} />}
      </Labelled>
      <Labelled name="Not by way of" hint="routers">
        {(id) => <input id={id} {...text("without")} />}
      </Labelled>
      <Labelled name="Any link group of" hint="0 to 63" problem={problems.includeAny}>
        {(id) => <input id={id} {...text("includeAny")} />}
      </Labelled>
      <Labelled name="All link groups of" problem={problems.includeAll}>
        {(id) => <input id={id} {...text("includeAll")} />}
      </Labelled>
      <Labelled name="No link group of" problem={problems.exclude}>
        {(id) => <input id={id} {...text("exclude")} />}
      </Labelled>
    </div>
  );
}

interface LabelledProps {
  name: string;
  hint?: string;
  problem?: string | undefined;
  wide?: boolean;
  children: (id: string) => ReactNode;
}

function Labelled({ name, hint, problem, wide, children }: LabelledProps) {
  const id = useId();
  return (
    <div className={wide ? "field wide" : "field"}>
      <label htmlFor={id}>
        {name}
        {hint && <span className="dim"> ({hint})</span>}
      </label>
      {children(id)}
      {problem && (
        <span className="bad-text" role="status">
          {problem}
        </span>
      )}
    </div>
  );
}

interface Input {
  value: string;
  onChange: (e: { target: { value: string } }) => void;
}

function RouterSelect(input: Input & { id: string }) {
  const { routers } = useGraph();
  return (
    <select {...input}>
      <option value="" />
      {routers
        .filter((r) => r.loopback !== "")
        .map((r) => (
          <option key={r.id} value={r.name}>
            {r.name}
          </option>
        ))}
    </select>
  );
}

function PrioritySelect(input: Input & { id: string }) {
  return (
    <select {...input}>
      <option value="" />
      {priorities.map((p) => (
        <option key={p}>{p}</option>
      ))}
    </select>
  );
}

interface QuantityProps {
  id: string;
  number: Input;
  unit: Input;
  units: readonly string[];
}

function Quantity({ id, number, unit, units }: QuantityProps) {
  return (
    <span className="quantity">
      <input id={id} inputMode="decimal" {...number} />
      <select aria-label="Unit" {...unit}>
        {units.map((u) => (
          <option key={u}>{u}</option>
        ))}
      </select>
    </span>
  );
}
