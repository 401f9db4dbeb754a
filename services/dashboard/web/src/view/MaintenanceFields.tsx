import { useMemo } from "react";
import { rateUnits } from "../model/circuitForm";
import { linkPairs, type MaintenanceForm, type MaintenanceProblems } from "../model/maintenance";
import { useGraph, useNames, useResource, useStore } from "../state/hooks";
import { Labelled } from "./Labelled";
import { Picker } from "./Picker";
import { Quantity } from "./Quantity";
import { YourName } from "./YourName";

interface Props {
  form: MaintenanceForm;
  by: string;
  problems: MaintenanceProblems;
  onChange: (part: Partial<MaintenanceForm>) => void;
  onBy: (by: string) => void;
}

/** What is out, when, and why. */
export function MaintenanceFields({ form, by, problems, onChange, onBy }: Props) {
  const snapshot = useResource(useStore().network.topology).data;
  const { linkName } = useNames();
  const { routers } = useGraph();
  const pairs = useMemo(() => new Map(linkPairs(snapshot, linkName).map((p) => [p.id, p.name])), [snapshot, linkName]);
  const text = (field: "id" | "left" | "leftUnit" | "start" | "end" | "reason") => ({
    value: form[field],
    onChange: (e: { target: { value: string } }) => onChange({ [field]: e.target.value }),
  });
  return (
    <div className="fields">
      <YourName by={by} onBy={onBy} />
      <Labelled name="Id" hint="such as a ticket's" problem={problems.id}>
        {(id) => <input id={id} maxLength={64} {...text("id")} />}
      </Labelled>
      <Labelled name="Links" hint="out in both directions" problem={problems.links}>
        {(id) => (
          <Picker
            id={id}
            options={[...pairs.keys()]}
            nameOf={(l) => pairs.get(l) ?? linkName(l)}
            chosen={form.links}
            onChange={(links) => onChange({ links })}
          />
        )}
      </Labelled>
      <Labelled name="Routers" hint="out with all their links" problem={problems.routers}>
        {(id) => (
          <Picker
            id={id}
            options={routers.map((r) => r.name)}
            nameOf={(r) => r}
            chosen={form.routers}
            onChange={(chosen) => onChange({ routers: chosen })}
          />
        )}
      </Labelled>
      <Labelled name="Start" hint="empty: now" problem={problems.start}>
        {(id) => <input id={id} type="datetime-local" {...text("start")} />}
      </Labelled>
      <Labelled name="End" problem={problems.end}>
        {(id) => <input id={id} type="datetime-local" {...text("end")} />}
      </Labelled>
      <Labelled name="Left of each link" hint="empty: nothing" problem={problems.left}>
        {(id) => <Quantity id={id} number={text("left")} unit={text("leftUnit")} units={rateUnits} />}
      </Labelled>
      <Labelled name="Reason" wide problem={problems.reason}>
        {(id) => <input id={id} maxLength={500} {...text("reason")} />}
      </Labelled>
    </div>
  );
}
