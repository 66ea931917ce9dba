/** What the colours and signs of a timeline mean, in one line; the help has it at length. */
import type { Theme } from "./colours.ts";

const SIGNS = [
  ["own", "own code, a colour for each package"],
  ["libraries", "libraries and C"],
  ["waits", "mostly waits"],
  ["short", "many short calls"],
  ["frayed", "uncertain by this width"],
  ["gap", "missing events"],
  ["pause", "the cycle collector"],
  ["mark", "a mark of the program"],
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
