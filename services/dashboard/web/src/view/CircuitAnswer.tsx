import type { Circuit, Offer } from "../gen/millrace/circuits/v1/circuits_pb";
import {
  blockerText,
  bookedText,
  displacedText,
  givenUpText,
  offerText,
  partText,
  pathText,
  refusalTitle,
  relaxationText,
  windowText,
} from "../model/circuits";
import type { Answer } from "../state/circuits";
import { useNames } from "../state/hooks";
import { Badge } from "./Panel";
import { windowClock } from "./time";

interface Props {
  answer: Answer;
  /** Fills the form with an offer; without it offers are only named. */
  onTake?: (offer: Offer) => void;
}

/** Whether the request in the form would fit: the booking, or the links without capacity and the terms that would fit. */
export function CircuitAnswer({ answer, onTake }: Props) {
  if (answer.refusal) return <Refused answer={answer} {...(onTake && { onTake })} />;
  if (answer.parts && answer.parts.length > 1) return <Parts circuits={answer.parts} />;
  return <Fits answer={answer} />;
}

const shownSlots = 4;

function Fits({ answer }: { answer: Answer }) {
  const { routerName } = useNames();
  const slots = answer.slots.slice(0, shownSlots);
  return (
    <div className="answer" data-testid="answer" data-fits="true">
      <p>
        <Badge tone="good">fits</Badge>
        {answer.windows ? ` all ${answer.windows} times, the first` : ""} over {pathText(answer.path, routerName)}
        {answer.backup.length > 0 && `, backup ${pathText(answer.backup, routerName)}`}
      </p>
      <ul>
        {slots.map((s) => (
          <li key={`${s.start?.seconds}`}>
            {bookedText(s.rateBitsPerSecond)}, {windowText(s.start, s.end, windowClock)}
          </li>
        ))}
        {answer.slots.length > shownSlots && (
          <li className="dim">and {answer.slots.length - shownSlots} more windows</li>
        )}
      </ul>
      {answer.wouldDisplace.length > 0 && (
        <>
          <p>
            <Badge tone="bad">displaces</Badge> Other circuits would make room as soon as it is booked:
          </p>
          <ul aria-label="Circuits that would be displaced">
            {answer.wouldDisplace.map((d) => (
              <li key={d.circuit} data-testid="would-displace">
                {displacedText(d, routerName, windowClock)}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/** Circuits that carry a volume together. */
function Parts({ circuits }: { circuits: readonly Circuit[] }) {
  const { routerName } = useNames();
  return (
    <div className="answer" data-testid="answer" data-fits="true">
      <p>
        <Badge tone="good">fits</Badge> {`${circuits.length} circuits carry it together:`}
      </p>
      <ul>
        {circuits.map((c, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: circuits of a quote have no id, and stay in their order
          <li key={i} data-testid="part">
            {partText(c, routerName, windowClock)}
          </li>
        ))}
      </ul>
    </div>
  );
}

const shownBlockers = 5;

function Refused({ answer, onTake }: Props) {
  const { linkName, routerName } = useNames();
  const r = answer.refusal;
  if (!r) return null;
  const hidden = Math.max(r.blockers.length - shownBlockers, 0) + r.blockersOmitted;
  return (
    <div className="answer" data-testid="answer" data-fits="false" data-code={r.code}>
      <p>
        <Badge tone="bad">no</Badge> <strong>{refusalTitle(r)}.</strong> <span className="dim">{r.reason}</span>
      </p>
      {r.blockers.length > 0 && (
        <ul aria-label="What is in the way">
          {r.blockers.slice(0, shownBlockers).map((b) => (
            <li key={`${b.link} ${b.start?.seconds}`} data-testid="blocker">
              {blockerText(b, linkName, windowClock)}
            </li>
          ))}
          {hidden > 0 && <li className="dim">and {hidden} more</li>}
        </ul>
      )}
      {r.relaxations.length > 0 && (
        <>
          <p className="dim">Each of these alone would make a path:</p>
          <ul aria-label="What would make a path">
            {r.relaxations.map((x) => (
              <li key={x.field} data-testid="relaxation" data-field={x.field}>
                {relaxationText(x, linkName, routerName)}
              </li>
            ))}
          </ul>
        </>
      )}
      {r.offers.length > 0 && (
        <>
          <p className="dim">What would fit now:</p>
          <ul className="offers" aria-label="Offers">
            {r.offers.map((o) => (
              <li key={o.kind} data-testid="offer" data-kind={o.kind}>
                <span>{offerText(o, answer.terms, windowClock)}</span>
                {onTake && (
                  <button type="button" className="button small" onClick={() => onTake(o)}>
                    Take
                  </button>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {r.givenUp.length > 0 && <p className="dim">{givenUpText(r.givenUp)}</p>}
    </div>
  );
}
