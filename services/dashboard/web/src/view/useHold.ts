import { useEffect, useRef, useState } from "react";

/** How long a key is held until it counts, ms: long enough that it is not done by mistake. */
const holdFor = 700;

const editable = "input, textarea, select, [contenteditable], dialog";

/**
 * Calls back when a key has been held, unless a user types or a dialog is open; reports whether it is being held now.
 * Without an action it listens to nothing. A hold is for what the action was about when it began: it ends where that is
 * something else meanwhile.
 */
export function useHold(key: string, action: (() => void) | undefined, about: string | undefined): boolean {
  const [holding, setHolding] = useState(false);
  const latest = useRef(action);
  useEffect(() => {
    latest.current = action;
  }, [action]);
  const active = action !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a hold is about one thing, which nothing here names.
  useEffect(() => {
    if (!active) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = () => {
      clearTimeout(timer);
      setHolding(false);
    };
    const down = (e: KeyboardEvent) => {
      if (e.key.toLowerCase() !== key || e.repeat || e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.target instanceof Element && e.target.closest(editable)) return;
      if (document.querySelector("dialog[open]")) return;
      clearTimeout(timer);
      setHolding(true);
      timer = setTimeout(() => {
        end();
        latest.current?.();
      }, holdFor);
    };
    const up = (e: KeyboardEvent) => {
      if (e.key.toLowerCase() === key) end();
    };
    window.addEventListener("keydown", down);
    window.addEventListener("keyup", up);
    window.addEventListener("blur", end);
    return () => {
      end();
      window.removeEventListener("keydown", down);
      window.removeEventListener("keyup", up);
      window.removeEventListener("blur", end);
    };
  }, [key, active, about]);
  return holding;
}
