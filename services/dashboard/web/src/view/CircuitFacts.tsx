import { type Circuit, Excess, type Hop, Protection, type Slot } from "../gen/millrace/circuits/v1/circuits_pb";
import { pairLine } from "../model/circuitForm";
import {
  askedText,
  bookedText,
  delayText,
  displacedText,
  excessText,
  pathText,
  protectionText,
  trafficText,
  windowText,
} from "../model/circuits";
import { wantedTexts } from "../model/circuitWants";
import { useNames } from "../state/hooks";
import { CircuitChanges } from "./CircuitChanges";
import { CircuitUsage } from "./CircuitUsage";
import { Fact } from "./Fact";
import { TimeOfDay, windowClock } from "./time";

/** What was requested, and what is booked for it. */
export function CircuitFacts({ circuit: c }: { circuit: Circuit }) {
  const { linkName } = useNames();
  const t = c.terms;
  if (!t) return null;
  const wanted = wantedTexts(t);
  const without = [...t.withoutLinks.map(linkName), ...t.withoutRouters];
  return (
    <dl className="facts" data-testid="circuit-facts">
      <Fact name="Asked">
        {askedText(t)} from {t.from} to {t.to}, {windowText(t.start, t.end, windowClock)}
        <span className="dim">
          {" "}
          · by {c.holder || "unknown"} for {t.project}, <TimeOfDay at={c.created} />
        </span>
      </Fact>
      <Fact name="Booked">
        <Slots slots={c.slots} />
      </Fact>
      <Fact name="Path">
        <Path path={c.path} />
      </Fact>
      <CircuitUsage circuit={c} />
      <CircuitChanges id={c.id} />
      <Displacing circuit={c} />
      {t.excess > Excess.QUEUE && <Fact name="Above the rate">{excessText[t.excess]}</Fact>}
      {t.protection !== Protection.UNSPECIFIED && (
        <Fact name="Backup">
          {c.backup.length > 0 ? <Path path={c.backup} /> : "none booked"}
          <span className="dim"> · {protectionText[t.protection]}</span>
        </Fact>
      )}
      {t.aboveSoftCap && <Fact name="Capacity">above the soft cap of links, if need be</Fact>}
      {c.unmoved && (
        <Fact name="In maintenance">
          <span className="bad-text">stays in the way of {c.unmoved.maintenance}</span>
          <span className="dim"> · {c.unmoved.refusal?.reason}</span>
        </Fact>
      )}
      {wanted.length > 0 && <Fact name="Path wanted">{wanted.join(", ")}</Fact>}
      {t.maxDelayMicroseconds > 0n && <Fact name="Delay">at most {delayText(t.maxDelayMicroseconds)}</Fact>}
      {t.pairs.length > 0 && (
        <Fact name="Traffic">
          {t.pairs.map((p) => (
            <p key={pairLine(p)}>{trafficText(p)}</p>
          ))}
        </Fact>
      )}
      {without.length > 0 && <Fact name="Without">{without.join(", ")}</Fact>}
      {t.apartFrom.length > 0 && <Fact name="Apart from">{t.apartFrom.join(", ")}</Fact>}
      <Fact name="Id">
        <code>{c.id}</code>
      </Fact>
    </dl>
  );
}

function Path({ path }: { path: readonly Hop[] }) {
  const { routerName } = useNames();
  return <span title={path.map((h) => h.link).join("\n")}>{pathText(path, routerName)}</span>;
}

/** What it took from others, and who took what it had. */
function Displacing({ circuit: c }: { circuit: Circuit }) {
  const { routerName } = useNames();
  const p = c.preempted;
  return (
    <>
      {p && (
        <Fact name="Preempted">
          <span className="bad-text">
            from <TimeOfDay at={p.from} /> on, by circuit {p.circuit} of setup priority {p.setupPriority}
          </span>
          <span className="dim"> · no other path: {p.refusal?.reason}</span>
          {p.refusal?.offers.map((o) => (
            <p key={o.kind}>
              {o.terms && `${askedText(o.terms)} would fit ${windowText(o.terms.start, o.terms.end, windowClock)}`}
            </p>
          ))}
        </Fact>
      )}
      {c.displaced.length > 0 && (
        <Fact name="Displaced">
          {c.displaced.map((d) => (
            <p key={d.circuit}>{displacedText(d, routerName, windowClock)}</p>
          ))}
        </Fact>
      )}
    </>
  );
}

const shownSlots = 6;

function Slots({ slots }: { slots: readonly Slot[] }) {
  if (slots.length === 0) return <>nothing</>;
  return (
    <>
      {slots.slice(0, shownSlots).map((s) => (
        <p key={`${s.start?.seconds}`}>
          {bookedText(s.rateBitsPerSecond)}, {windowText(s.start, s.end, windowClock)}
        </p>
      ))}
      {slots.length > shownSlots && <p className="dim">and {slots.length - shownSlots} more windows</p>}
    </>
  );
}
