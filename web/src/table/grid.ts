// The columns of a table, and the order of its rows.

export interface Column {
  name: string;
  title: string;
  /** The column's tooltip. */
  about?: string;
  text(row: number): string;
  /** Return the value to sort by: numbers the largest first, texts from a to z. */
  value(row: number): number | string;
  /** Return the length of the bar in the cell, as a part of the longest one. */
  bar?(row: number): number;
  /** Return the class of a cell if it depends on the row. */
  look?(row: number): string;
  left?: boolean;
}

export interface Sort {
  name: string;
  descending: boolean;
}

export const DIVIDER = -1; // the row that separates libraries

/** Return the sort after a click on a heading: numbers from the largest, texts from a. */
export function turned(sort: Sort, column: Column, sample: number): Sort {
  if (sort.name === column.name) return { name: sort.name, descending: !sort.descending };
  return { name: column.name, descending: typeof column.value(sample) !== "string" };
}

/** Return the rows in the order of a column; the sort is stable. */
export function sorted(rows: number[], column: Column | undefined, descending: boolean): number[] {
  if (!column) return rows;
  const sign = descending ? -1 : 1;
  const values = new Map(rows.map((row) => [row, column.value(row)]));
  return [...rows].sort((a, b) => {
    const [one, other] = [values.get(a) ?? 0, values.get(b) ?? 0];
    return one < other ? -sign : one > other ? sign : 0;
  });
}

/** Return the program's own rows, then a divider and the libraries', if there are both. */
export function divided(rows: number[], foreign: (row: number) => boolean): number[] {
  const own = rows.filter((row) => !foreign(row));
  if (!own.length || own.length === rows.length) return rows;
  return [...own, DIVIDER, ...rows.filter(foreign)];
}
