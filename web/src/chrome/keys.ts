// Keys that work wherever the focus is, and the colour scheme of the page.

import { useEffect, useRef, useState } from "preact/hooks";

/** Call an action for each key, except in dialogs and text fields. In a field, Escape leaves it. */
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

/** Return a number that changes with the colours, and a function to call after a switch has changed them. */
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
