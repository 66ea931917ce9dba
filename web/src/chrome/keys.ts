// Keys that work wherever the focus is, and the number that changes with the light.

import { useEffect, useRef, useState } from "preact/hooks";

/** Keys and what they do: not in fields that take text, where Escape only leaves the field, and not in dialogs. */
export function useKeys(keys: Record<string, () => void>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog, select")) return;
      if (target instanceof HTMLInputElement && target.type !== "radio" && target.type !== "checkbox") {
        if (event.key === "Escape") target.blur();
        return;
      }
      const action = latest.current[event.key];
      if (!action) return;
      action();
      event.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

const DARK = "(prefers-color-scheme: dark)";

/** Return true if the page is dark: by its switch, else by the system. */
export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia(DARK).matches;
}

/** A number that is another one whenever colours are, and what to call when a switch has changed them. */
export function useTheme(): [number, () => void] {
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const media = matchMedia(DARK);
    const changed = () => setTheme((number) => number + 1);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, []);
  return [theme, () => setTheme((number) => number + 1)];
}
