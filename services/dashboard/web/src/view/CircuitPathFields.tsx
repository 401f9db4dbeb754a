import { Metric } from "../gen/millrace/circuits/v1/circuits_pb";
import type { PathForm, PathProblems } from "../model/circuitPath";
import { circuitTitle, shortId } from "../model/circuits";
import { useLive, useNames, useResource, useStore } from "../state/hooks";
import { Labelled } from "./Labelled";
import { Picker } from "./Picker";

interface Props {
  form: PathForm;
  problems: PathProblems;
  onChange: (part: Partial<PathForm>) => void;
  /** The circuit whose path it is: it is not apart from itself. */
  own?: string;
}

type TextField = Exclude<keyof PathForm, "metric" | "withoutLinks" | "apartFrom">;

/** What the path is to be like. */
export function CircuitPathFields({ form, problems, onChange, own }: Props) {
  const text = (field: TextField) => ({
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
      <Labelled name="Delay" hint="ms at most" problem={problems.delay}>
        {(id) => <input id={id} inputMode="decimal" {...text("delay")} />}
      </Labelled>
      <Labelled name="Links" hint="at most" problem={problems.hops}>
        {(id) => <input id={id} inputMode="numeric" {...text("hops")} />}
      </Labelled>
      <Labelled name="Segments" hint="at most" problem={problems.sids}>
        {(id) => <input id={id} inputMode="numeric" {...text("sids")} />}
      </Labelled>
      <Labelled name="Via" hint="routers in order" problem={problems.via}>
        {(id) => <input id={id} {...text("via")} />}
      </Labelled>
      <Labelled name="Not via" hint="routers" problem={problems.without}>
        {(id) => <input id={id} {...text("without")} />}
      </Labelled>
      <WithoutLinks form={form} problems={problems} onChange={onChange} />
      <ApartFrom form={form} problems={problems} onChange={onChange} own={own ?? ""} />
      <Labelled name="Any link group of" hint="0 to 63" problem={problems.includeAny}>
        {(id) => <input id={id} {...text("includeAny")} />}
      </Labelled>
      <Labelled name="All link groups of" problem={problems.includeAll}>
        {(id) => <input id={id} {...text("includeAll")} />}
      </Labelled>
      <Labelled name="No link group of" problem={problems.exclude}>
        {(id) => <input id={id} {...text("exclude")} />}
      </Labelled>
      <Labelled name="No risk group of" problem={problems.excludeRiskGroups}>
        {(id) => <input id={id} {...text("excludeRiskGroups")} />}
      </Labelled>
    </div>
  );
}

/** Links that the path must not use, each in one direction. */
function WithoutLinks({ form, problems, onChange }: Omit<Props, "own">) {
  const links = useResource(useStore().network.topology).data?.links ?? [];
  const { linkName } = useNames();
  return (
    <Labelled name="Not over" hint="links" problem={problems.withoutLinks}>
      {(id) => (
        <Picker
          id={id}
          options={links.map((l) => l.id)}
          nameOf={linkName}
          chosen={form.withoutLinks}
          onChange={(withoutLinks) => onChange({ withoutLinks })}
        />
      )}
    </Labelled>
  );
}

/** Circuits that it must not fail together with. */
function ApartFrom({ form, problems, onChange, own }: Required<Props>) {
  const { circuits } = useStore();
  const booked = useLive(circuits.booked).data?.circuits ?? [];
  const names = new Map(booked.map((c) => [c.id, `${circuitTitle(c)} (${shortId(c.id)})`]));
  return (
    <Labelled name="Apart from" hint="circuits" problem={problems.apartFrom}>
      {(id) => (
        <Picker
          id={id}
          options={booked.map((c) => c.id).filter((c) => c !== own)}
          nameOf={(c) => names.get(c) ?? c}
          chosen={form.apartFrom}
          onChange={(apartFrom) => onChange({ apartFrom })}
        />
      )}
    </Labelled>
  );
}
