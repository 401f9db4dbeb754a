/** The colour of a line, in the legend of a chart. */
export function LineMark({ tone }: { tone: string }) {
  return (
    <svg width="18" height="8" aria-hidden="true">
      <line className={`line ${tone}`} x1="1" x2="17" y1="4" y2="4" />
    </svg>
  );
}

interface Props {
  tone: string;
  name: string;
  /** Undefined while nothing is known. */
  value: string | undefined;
  what: string;
  testId: string;
}

/** A line of a chart and its value, in the legend. */
export function ChartKey({ tone, name, value, what, testId }: Props) {
  return (
    <li className={tone} data-testid={testId}>
      <LineMark tone={tone} />
      <strong>{name}</strong> <span className="figures">{value ?? "–"}</span> <span className="dim">{what}</span>
    </li>
  );
}
