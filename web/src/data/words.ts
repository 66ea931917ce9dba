// Numbers as short text, the same as in seismo.report.words, so that a page and a terminal agree. tests/report/page
// compares the two.

const UNKNOWN = 0.995; // ratio of error to time from which only an upper bound is known

/** Return a number from 0 to 1000 in three significant digits; "1000" if it rounds to that or is larger. */
export function threeDigits(value: number): string {
  if (value < 9.995) return fixed(value, 2);
  if (value < 99.95) return fixed(value, 1);
  return value < 999.5 ? fixed(value, 0) : "1000";
}

/** Return toFixed(), but round exact halves to even as Python does. */
function fixed(value: number, digits: number): string {
  const scale = 10 ** digits;
  const scaled = value * scale;
  const down = Math.floor(scaled);
  // Only multiples of such a power of two are halves: 1.815 is a little less than it looks.
  if (scaled - down === 0.5 && Number.isInteger(value * 2 ** (digits + 1)))
    return ((down % 2 ? down + 1 : down) / scale).toFixed(digits);
  return value.toFixed(digits);
}

/** Return a time in three significant digits: `1.23 ms`, `45.6 µs`, `789 ns`, `0`, or `<1 ns`. */
export function duration(ns: number): string {
  if (ns <= 0) return "0";
  if (ns < 1) return "<1 ns";
  for (const [unit, size] of [
    ["ns", 1],
    ["µs", 1e3],
    ["ms", 1e6],
  ] as const) {
    const digits = threeDigits(ns / size);
    if (digits !== "1000") return `${digits} ${unit}`;
  }
  const seconds = ns / 1e9;
  return seconds < 999.5 ? `${threeDigits(seconds)} s` : `${count(seconds)} s`;
}

/** Return a whole number with thousands separators. */
export function count(value: number): string {
  return fixed(value, 0).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Return true if only an upper bound of the time is known. */
export function isUnknown(ns: number, error: number): boolean {
  return error > 0 && error >= UNKNOWN * ns;
}

/** Return the value to sort a time by: its lower bound if it is unknown, lest a guess leads. */
export function rank(ns: number, error: number): number {
  return isUnknown(ns, error) ? Math.max(0, ns - error) : ns;
}

/** Return a time: `1.23 ms`, or its upper bound if it is unknown: `< 6 ms`. */
export function time(ns: number, error: number): string {
  return isUnknown(ns, error) ? `< ${roundedUp(ns + error)}` : duration(ns);
}

function roundedUp(ns: number): string {
  let step = 0.1;
  const most = Math.min(ns, 1e30);
  while (most > 30 * step) step *= 10;
  const bound = Math.max(1, Math.ceil(most / step) * step);
  const units = [
    ["ns", 1],
    ["µs", 1e3],
    ["ms", 1e6],
    ["s", 1e9],
  ] as const;
  const [unit, size] = units.find(([, size]) => bound < 999.5 * size) ?? units[3];
  const [whole, part] = fixed(bound / size, 1).split(".");
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ",")}${part === "0" ? "" : `.${part}`} ${unit}`;
}

/** Return the error relative to the time: `±3 %`; "" below 1 %, and where time() returns an upper bound. */
export function error(errorNs: number, ns: number): string {
  if (errorNs <= 0 || isUnknown(ns, errorNs)) return "";
  const share = (100 * errorNs) / ns;
  return share >= 1 ? `±${fixed(share, 0)} %` : "";
}

/** Return the part of the whole as `12.3 %`, `<1 %` below one, or "" if there is no whole. */
export function percent(part: number, whole: number): string {
  if (whole <= 0) return "";
  const share = (100 * part) / whole;
  if (share < 1) return share > 0 ? "<1 %" : "0 %";
  return `${fixed(share, share < 99.95 ? 1 : 0)} %`;
}

/** Return a time's share, or the upper bound of an unknown time's: `< 3 %`. */
export function share(ns: number, errorNs: number, whole: number): string {
  if (!isUnknown(ns, errorNs) || whole <= 0) return percent(ns, whole);
  const most = (100 * (ns + errorNs)) / whole;
  return most <= 1 ? "<1 %" : most < 100 ? `< ${Math.ceil(most)} %` : "";
}

/** `1 call`, `2 calls`. */
export function numberOf(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** Return a percentage without its sign. 0 and 100 are shown only if they are exact. */
export function percentText(percent: number, precision: number): string {
  const step = 1 / 10 ** precision;
  const shown = percent > 0 && percent < step ? step : percent > 100 - step && percent < 100 ? 100 - step : percent;
  return fixed(shown, precision);
}
