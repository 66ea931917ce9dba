/** The legend of a timeline in one line. The help explains it at length. */
import type { Theme } from "./colours.ts";

const SIGNS = [
  ["own", "own code, by package"],
  ["libraries", "libraries and C"],
  ["waits", "mostly waits"],
  ["short", "many short calls"],
  ["frayed", "uncertain"],
  ["gap", "missing events"],
  ["pause", "cycle collector"],
  ["mark", "mark"],
] as const;

export function Legend({ theme }: { theme: Theme }) {
  return (
    <p class="legend" style={{ "--libraries": theme.installed.fill, "--gap": theme.gap, "--pause": theme.pause }}>
      {SIGNS.map(([sign, words]) => (
        <span key={sign} class={`swatch ${sign}`}>
          {words}
        </span>
      ))}
    </p>
  );
}
