// The colours of flame graphs. The hues (after Okabe and Ito) are distinct with any kind of colour blindness, and
// differ in lightness for grey print. Text on them is dark in both themes (contrast above 7).

export interface Palette {
  ink: string;
  quiet: string;
  paper: string;
  line: string;
  accent: string;
  /** The cover of the part of a frame that waited. */
  waiting: string;
  /** By colour number: three shades for each of the base colours. */
  fills: string[];
  /** The same for frames that a search does not match. */
  dim: string[];
}

export const SHADES = 3;
const BASES = ["--own", "--installed", "--standard", "--c", "--other"];
/** From much less to much more; the middle one is no change. */
export const CHANGES = ["--less3", "--less2", "--less1", "--same", "--more1", "--more2", "--more3"];

type Rgb = [number, number, number];

function rgb(colour: string): Rgb {
  const hex = colour.trim().replace("#", "");
  const wide = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
  const number = Number.parseInt(wide, 16);
  return Number.isNaN(number) ? [128, 128, 128] : [number >> 16, (number >> 8) & 255, number & 255];
}

function mixed(one: Rgb, other: Rgb, part: number): string {
  const [r, g, b] = one.map((value, at) => Math.round(value * (1 - part) + other[at] * part));
  return `rgb(${r},${g},${b})`;
}

/** Return the colours of the page's current style. changes: those of a comparison, else those of owners. */
export function palette(changes: boolean): Palette {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string) => style.getPropertyValue(name);
  const paper = rgb(value("--panel"));
  const bases = (changes ? CHANGES : BASES).map((name) => rgb(value(name)));
  const shades = changes ? [0] : [0, 0.14, 0.26];
  const towards: Rgb = [255, 255, 255];
  const fills = bases.flatMap((base) => shades.map((part) => mixed(base, towards, part)));
  const dim = bases.flatMap((base) => shades.map(() => mixed(base, paper, 0.78)));
  return {
    ink: "#17130c",
    quiet: value("--quiet"),
    paper: value("--panel"),
    line: value("--line"),
    accent: value("--accent"),
    waiting: value("--waiting"),
    fills,
    dim,
  };
}

/** Return a number from 0 to SHADES - 1 that depends on the text only. */
export function shadeOf(text: string): number {
  let hash = 7;
  for (let at = 0; at < text.length; at++) hash = (hash * 31 + text.charCodeAt(at)) | 0;
  return (hash >>> 4) % SHADES;
}
