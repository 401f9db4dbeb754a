import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useState } from "react";
import { type Circuit, CircuitsService } from "../gen/millrace/circuits/v1/circuits_pb";
import {
  askedText,
  canActivate,
  canChange,
  canCommit,
  canRelease,
  canReoptimise,
  circuitLabel,
  circuitMeaning,
  circuitStateName,
  circuitSteps,
  circuitTitle,
  needsOperator,
} from "../model/circuits";
import { formatUntil, millis } from "../model/units";
import { useMayOperate, useStore, useTime } from "../state/hooks";
import type { Known } from "../state/resource";
import { CallButton } from "./CallButton";
import { Steps } from "./ChangeSteps";
import { CircuitFacts } from "./CircuitFacts";
import { OperatorDialog } from "./OperatorDialog";
import { Badge, Panel } from "./Panel";
import { TimeOfDay } from "./time";

interface Props {
  id: string;
  source: Known<Circuit | undefined>;
  onClose: () => void;
  /** Open the forms that change its path, and its rate and end. */
  onPath: () => void;
  onSize: () => void;
}

type Asked = "commit" | "activate" | "release" | "reoptimise";

/** One circuit: its state, request, booking and history. */
export function CircuitPanel({ id, source, onClose, onPath, onSize }: Props) {
  const mayOperate = useMayOperate();
  const [asking, setAsking] = useState<Asked>();
  const circuit = source.data;
  return (
    <Panel
      title={circuit ? circuitTitle(circuit) : id}
      className="circuit"
      testId="circuit-detail"
      source={source}
      aside={
        <div className="actions">
          {circuit && mayOperate && <Actions circuit={circuit} onAsk={setAsking} onPath={onPath} onSize={onSize} />}
          <button type="button" className="button quiet" aria-label="Close circuit" onClick={onClose}>
            ×
          </button>
        </div>
      }
    >
      {circuit && (
        <article data-circuit={circuit.id} data-state={circuitStateName(circuit.state)}>
          <p className="circuit-state">
            <Badge tone={circuitLabel(circuit.state).tone}>{circuitLabel(circuit.state).text}</Badge>{" "}
            {circuitMeaning(circuit)}
            {circuit.expires && canCommit(circuit) && (
              <>
                {" "}
                (<Expiry at={timestampDate(circuit.expires).getTime()} />)
              </>
            )}
          </p>
          {needsOperator(circuit) && (
            <p className="filter" data-testid="needs-operator">
              It may be above the soft cap of links: an operator of circuits commits it, or lets it expire.
            </p>
          )}
          <Steps steps={circuitSteps(circuit)} />
          <CircuitFacts circuit={circuit} />
          <Timeline circuit={circuit} />
        </article>
      )}
      {circuit && asking && <Question asked={asking} circuit={circuit} onDone={() => setAsking(undefined)} />}
    </Panel>
  );
}

interface ActionsProps {
  circuit: Circuit;
  onAsk: (what: Asked) => void;
  onPath: () => void;
  onSize: () => void;
}

/** What its state lets a person do; whether this person may is the service's to say. */
function Actions({ circuit, onAsk, onPath, onSize }: ActionsProps) {
  return (
    <>
      {canCommit(circuit) && (
        <CallButton call={CircuitsService.method.commit} className="button primary" onClick={() => onAsk("commit")}>
          {needsOperator(circuit) ? "Commit as operator" : "Commit"}
        </CallButton>
      )}
      {canActivate(circuit) && (
        <CallButton call={CircuitsService.method.activate} className="button primary" onClick={() => onAsk("activate")}>
          Activate
        </CallButton>
      )}
      {canChange(circuit) && (
        <>
          <CallButton call={CircuitsService.method.modify} className="button" onClick={onSize}>
            Change rate or end…
          </CallButton>
          <CallButton call={CircuitsService.method.modify} className="button" onClick={onPath}>
            Change path…
          </CallButton>
        </>
      )}
      {canReoptimise(circuit) && (
        <CallButton call={CircuitsService.method.reoptimise} className="button" onClick={() => onAsk("reoptimise")}>
          Reoptimise
        </CallButton>
      )}
      {canRelease(circuit) && (
        <CallButton call={CircuitsService.method.release} className="button danger" onClick={() => onAsk("release")}>
          Release
        </CallButton>
      )}
    </>
  );
}

function Expiry({ at }: { at: number }) {
  return <>{useTime((now) => (at > now ? `expires ${formatUntil(millis(at), now)}` : "expired"))}</>;
}

/** Every transition, newest first: when, to which state, by whom and why. */
function Timeline({ circuit }: { circuit: Circuit }) {
  return (
    <section className="history timeline" data-testid="timeline">
      <h3>Timeline</h3>
      <ol>
        {circuit.history.toReversed().map((t) => (
          <li key={`${t.time?.seconds}.${t.time?.nanos} ${t.state}`}>
            <TimeOfDay at={t.time} />
            <span>{circuitLabel(t.state).text}</span>
            <span className="dim">
              {t.by && `by ${t.by}`}
              {t.note && `: ${t.note}`}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

const questions: Record<Asked, { title: string; effect: string }> = {
  commit: {
    title: "Commit",
    effect: "What is held is booked. It stays booked until its end, or until it is released.",
  },
  activate: {
    title: "Activate",
    effect: "Routers are given the circuit at its start, or now if that has passed.",
  },
  reoptimise: {
    title: "Reoptimise",
    effect:
      "If a better path has room now, the circuit is moved there. One that is active stays so: both paths are booked until routers have the better one.",
  },
  release: {
    title: "Release",
    effect: "The circuit is given up for good: its capacity is free for others as soon as no router has it.",
  },
};

function Question({ asked, circuit, onDone }: { asked: Asked; circuit: Circuit; onDone: () => void }) {
  const { circuits } = useStore();
  const { title, effect } = questions[asked];
  return (
    <OperatorDialog
      title={`${title}: ${circuitTitle(circuit)}?`}
      confirm={`Yes, ${title.toLowerCase()}`}
      danger={asked === "release"}
      note={{ label: "Note", hint: "optional, kept in the timeline", required: false }}
      submit={(decision) => circuits[asked](circuit.id, decision)}
      onDone={onDone}
    >
      <p>
        {circuit.terms?.from} → {circuit.terms?.to}, {askedText(circuit.terms)}, project {circuit.terms?.project}.
      </p>
      <p className="dim">{effect}</p>
    </OperatorDialog>
  );
}
