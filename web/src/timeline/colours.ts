/**
 * The colours of calls: a hue for each top-level package, from eight that are distinct with any colour vision (after
 * Okabe and Ito). The standard library and installed packages are muted, so that own code stands out. The contrast of
 * text is at least 4.5.
 */
import type { TraceInfo } from "./source.ts";

export interface Paint {
  readonly fill: string;
  readonly text: string;
  readonly edge: string;
}

const HUES_LIGHT = ["#f2b84b", "#7cc3ee", "#4fbf9f", "#f0a3c8", "#e98b5b", "#8fb1f2", "#c9cf5a", "#b9a3e3"];
const HUES_DARK = ["#b98212", "#2f7fae", "#0f8466", "#a8567f", "#b1521f", "#4a6cc0", "#7f851c", "#7a5fb8"];

export interface Theme {
  readonly dark: boolean;
  readonly ground: string;
  readonly raised: string;
  readonly ink: string;
  readonly quiet: string;
  readonly line: string;
  readonly accent: string;
  readonly selection: string;
  readonly gap: string;
  /** The cycle collector at work. */
  readonly pause: string;
  readonly installed: Paint;
  readonly c: Paint;
}

export const LIGHT: Theme = {
  dark: false,
  ground: "#ffffff",
  raised: "#f1efea",
  ink: "#1b1f24",
  quiet: "#5d6570",
  line: "#dcdad4",
  accent: "#0b63b0",
  selection: "rgba(11, 99, 176, 0.14)",
  gap: "#c2410c",
  pause: "#a3207a",
  installed: { fill: "#d5dae1", text: "#1b1f24", edge: "#aeb6c1" },
  c: { fill: "#e8ebef", text: "#3c4450", edge: "#c3cad3" },
};

export const DARK: Theme = {
  dark: true,
  ground: "#1a1e24",
  raised: "#222831",
  ink: "#e8eaed",
  quiet: "#9aa4b1",
  line: "#333a44",
  accent: "#6db3f2",
  selection: "rgba(108, 176, 255, 0.2)",
  gap: "#fb923c",
  pause: "#f472b6",
  installed: { fill: "#3d4550", text: "#e8eaed", edge: "#59636f" },
  c: { fill: "#2b3139", text: "#c3cad3", edge: "#454e59" },
};

function hash(text: string): number {
  let value = 2166136261;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619);
  return value >>> 0;
}

const C_FUNCTION = 1;

/** The paint of a function. */
export function paintOf(info: TraceInfo, fn: number, theme: Theme): Paint {
  if (info.kinds[fn] === C_FUNCTION) return theme.c;
  if (info.foreign[fn]) return theme.installed;
  const hues = theme.dark ? HUES_DARK : HUES_LIGHT;
  const fill = hues[hash((info.modules[fn] ?? "").split(".")[0]) % hues.length];
  return { fill, text: theme.dark ? "#ffffff" : "#15181c", edge: theme.dark ? "#0e1013" : "#ffffff" };
}
