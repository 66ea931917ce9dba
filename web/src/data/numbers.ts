// Sums and extremes of columns.

/** Return the largest value, or 0. */
export function largest(values: ArrayLike<number>): number {
  let most = 0;
  for (let at = 0; at < values.length; at++) if (values[at] > most) most = values[at];
  return most;
}

export function sum(values: ArrayLike<number>): number {
  let whole = 0;
  for (let at = 0; at < values.length; at++) whole += values[at];
  return whole;
}
