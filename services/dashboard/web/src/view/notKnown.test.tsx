import { create } from "@bufbuild/protobuf";
import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { AlphaNowSchema, NowState } from "../gen/millrace/alpha/v1/alpha_pb";
import { network as networkOf } from "../model/testing";
import { Clock } from "../state/clock";
import { StoreContext } from "../state/hooks";
import { always, Resource } from "../state/resource";
import type { Store } from "../state/store";
import { NowPanel } from "./NowPanel";
import { TopologyPanel } from "./TopologyPanel";

const never = always(3_600_000);

/** What a service answered, and then perhaps no more. */
async function answered<T>(data: T | undefined, error?: string): Promise<Resource<T>> {
  let first = data !== undefined;
  const resource = new Resource<T>(async () => {
    if (first && data !== undefined) return data;
    throw new Error(error);
  }, never);
  if (first) await resource.refresh();
  first = false;
  if (error) await resource.refresh();
  return resource;
}

function shown(parts: { network?: object; changes?: object }, what: ReactNode): string {
  const store = { clock: new Clock(), ...parts } as unknown as Store;
  return renderToStaticMarkup(<StoreContext value={store}>{what}</StoreContext>);
}

const nothing = () => undefined;

test("that nothing is known of what is alpha now does not look like nothing being alpha", async () => {
  const panel = <NowPanel onChange={nothing} />;
  const none = { pairs: [], ports: [] };
  expect(shown({ network: { now: await answered(none) } }, panel)).toBe("");
  for (const before of [undefined, none])
    expect(shown({ network: { now: await answered<object>(before, "no answer") } }, panel)).toContain(
      "Cannot load: no answer.",
    );
});

test("a state that a newer service has says that it is unknown, and takes no other row away", async () => {
  const pairs = [99, NowState.IN_CIRCUIT].map((state) =>
    create(AlphaNowSchema, { state: state as NowState, pair: { id: `p${state}` } }),
  );
  const html = shown({ network: { now: await answered({ pairs, ports: [] }) } }, <NowPanel onChange={nothing} />);
  expect(html).toContain("unknown");
  expect(html).toContain("in a circuit");
});

test("the map says what of it is not known any more", async () => {
  const parts = {
    topology: await answered(networkOf("WR-ER")),
    devices: await answered([{ name: "WR", connected: true }], "no collector"),
    counters: await answered(new Map(), "no store"),
  };
  const changes = { list: await answered([]), freezes: await answered([]), drift: await answered([], "no push") };
  const html = shown(
    { network: parts, changes },
    <TopologyPanel selected={undefined} view="table" onView={nothing} onChange={nothing} />,
  );
  for (const text of [
    "which routers answer: no collector",
    "what links carry: no store",
    "from what change sets left: no push",
  ])
    expect(html).toContain(text);
});
