// What a table of any kind of rows has: its columns, and the order of its rows.

export interface Column {
  name: string;
  title: string;
  /** The column's tooltip. */
  about?: string;
  text(row: number): string;
  /** What rows are sorted by: numbers the largest first, texts from a to z. */
  value(row: number): number | string;
  /** How long the bar in the cell is, as a part of the longest one. */
  bar?(row: number): number;
  /** The class of a cell, where it depends on the row. */
  look?(row: number): string;
  left?: boolean;
}

export interface Sort {
  name: string;
  descending: boolean;
}

export const DIVIDER = -1; // in the place of a row, where libraries begin

/** The sort after a click on the head of a column: numbers begin with the largest, texts with a. */
export function turned(sort: Sort, column: Column, sample: number): Sort {
  if (sort.name === column.name) return { name: sort.name, descending: !sort.descending };
  return { name: column.name, descending: typeof column.value(sample) !== "string" };
}

/** The rows ordered by a column; equal ones stay as they are. */
export function sorted(rows: number[], column: Column | undefined, descending: boolean): number[] {
  if (!column) return rows;
  const sign = descending ? -1 : 1;
  const values = new Map(rows.map((row) => [row, column.value(row)]));
  return [...rows].sort((a, b) => {
    const [one, other] = [values.get(a) ?? 0, values.get(b) ?? 0];
    return one < other ? -sign : one > other ? sign : 0;
  });
}

/** The rows, first the program's own, then a divider and those of libraries, where there are both. */
export function divided(rows: number[], foreign: (row: number) => boolean): number[] {
  const own = rows.filter((row) => !foreign(row));
  if (!own.length || own.length === rows.length) return rows;
  return [...own, DIVIDER, ...rows.filter(foreign)];
}
