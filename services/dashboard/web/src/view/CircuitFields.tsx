import { Every, Protection } from "../gen/millrace/circuits/v1/circuits_pb";
import {
  type CircuitForm,
  type Field,
  type Problems,
  pathCounts,
  priorities,
  rateUnits,
  volumeUnits,
} from "../model/circuitForm";
import { useGraph } from "../state/hooks";
import { CircuitPathFields } from "./CircuitPathFields";
import { Labelled } from "./Labelled";
import { type Input, Quantity } from "./Quantity";
import { YourName } from "./YourName";

interface Props {
  form: CircuitForm;
  by: string;
  problems: Problems;
  onChange: (part: Partial<CircuitForm>) => void;
  onBy: (by: string) => void;
}

/** Fields whose value is a text. */
type TextField = { [F in Field]: CircuitForm[F] extends string ? F : never }[Field];

/** The fields of a request. */
export function CircuitFields({ form, by, problems, onChange, onBy }: Props) {
  const text = (field: TextField) => ({
    value: form[field],
    onChange: (e: { target: { value: string } }) => onChange({ [field]: e.target.value }),
  });
  const volume = form.kind === "volume";
  const scavenger = form.kind === "scavenger";
  return (
    <div className="fields">
      <YourName by={by} onBy={onBy} />
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
      {volume && (
        <Labelled name="Paths" hint="at most; pairs need ports" problem={problems.paths}>
          {(id) => (
            <select id={id} {...text("paths")}>
              {pathCounts.map((n) => (
                <option key={n}>{n}</option>
              ))}
            </select>
          )}
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
        <summary>Protection, priority, traffic</summary>
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
          <Labelled name="Priority" hint="0 is first">
            {(id) => <PrioritySelect id={id} {...text("priority")} />}
          </Labelled>
          {!volume && !scavenger && (
            <Labelled name="Displaces later than" hint="setup priority" problem={problems.setup}>
              {(id) => <PrioritySelect id={id} {...text("setup")} />}
            </Labelled>
          )}
          <Labelled name="Above the soft cap" hint="an operator commits it" problem={problems.aboveSoftCap}>
            {(id) => (
              <select
                id={id}
                value={form.aboveSoftCap ? "yes" : "no"}
                onChange={(e) => onChange({ aboveSoftCap: e.target.value === "yes" })}
              >
                <option value="no">no</option>
                <option value="yes">if need be</option>
              </select>
            )}
          </Labelled>
          <Labelled name="Description" wide>
            {(id) => <input id={id} maxLength={500} {...text("description")} />}
          </Labelled>
          <Labelled
            name="Traffic"
            hint="source and destination prefix, one pair a line; then tcp or udp and ports, if they matter"
            problem={problems.pairs}
            wide
          >
            {(id) => <textarea id={id} rows={2} {...text("pairs")} />}
          </Labelled>
        </div>
      </details>
      <details className="wide">
        <summary>More: the path</summary>
        <CircuitPathFields form={form} problems={problems} onChange={onChange} />
      </details>
    </div>
  );
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
