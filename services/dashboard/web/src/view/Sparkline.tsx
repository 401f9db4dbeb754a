import { sparkline } from "../model/geometry";
import { loadLevel } from "../model/topology";
import type { Share } from "../model/units";

interface Props {
  trend: (Share | undefined)[];
  width: number;
  height: number;
}

/** Load of the last minutes; full height is the whole link. */
export function Sparkline({ trend, width, height }: Props) {
  const size = { width, height };
  return (
    <svg className={`spark ${loadLevel(trend.at(-1))}`} width={width} height={height} aria-hidden="true">
      <line x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} />
      <path d={sparkline(trend, size, 1)} />
    </svg>
  );
}
