import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useHold } from "./useHold";

/** What React does with the hooks of one component, without a document: each call has its place. */
const react = vi.hoisted(() => {
  interface Effect {
    needs: readonly unknown[] | undefined;
    end: (() => void) | undefined;
  }
  const kept: unknown[] = [];
  const effects: (() => void)[] = [];
  let place = 0;
  const here = <T>(first: () => T): [T, number] => {
    if (place === kept.length) kept.push(first());
    return [kept[place] as T, place++];
  };
  return {
    useState: <T>(first: T) => {
      const [value, at] = here(() => first);
      const set = (next: T) => {
        kept[at] = next;
      };
      return [value, set];
    },
    useRef: <T>(first: T) => here(() => ({ current: first }))[0],
    useEffect: (run: () => (() => void) | undefined, needs?: readonly unknown[]) => {
      const [last] = here<Effect>(() => ({ needs: undefined, end: undefined }));
      if (needs && last.needs && needs.every((need, i) => Object.is(need, last.needs?.[i]))) return;
      effects.push(() => {
        last.end?.();
        last.needs = needs;
        last.end = run() ?? undefined;
      });
    },
    /** Renders once, and runs the effects that are due. */
    render: <T>(component: () => T): T => {
      place = 0;
      const out = component();
      for (const effect of effects.splice(0)) effect();
      return out;
    },
  };
});

vi.mock("react", () => react);

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("window", new EventTarget());
  vi.stubGlobal("Element", class {});
  vi.stubGlobal("document", { querySelector: () => null });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const press = (key: string) => window.dispatchEvent(Object.assign(new Event("keydown"), { key }));

test("a key that is held for one change set does nothing to the next", () => {
  const aborted: string[] = [];
  const shown = (id: string) => react.render(() => useHold("a", () => aborted.push(id), id));
  shown("c1");
  press("a");
  expect(shown("c1")).toBe(true);
  vi.advanceTimersByTime(600);
  expect(shown("c2")).toBe(true); // c1 has just ended, and another one runs: it is shown from now on
  vi.advanceTimersByTime(600);
  expect(aborted).toEqual([]);
  expect(shown("c2")).toBe(false);
  press("a");
  vi.advanceTimersByTime(600);
  shown("c2"); // the page is rendered at each poll
  vi.advanceTimersByTime(200);
  expect(aborted).toEqual(["c2"]);
});
