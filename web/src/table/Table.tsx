// A table of functions of any length. Only the rows in sight are elements; a screen reader gets the true size.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Functions, Times } from "../data/calls.ts";
import { largest } from "../data/numbers.ts";
import { type Cells, type Columns, ordered } from "./functions.ts";
import { Name } from "./Name.tsx";

const ROW = 26; // px, as in the style
const AROUND = 8; // rows above and below what is in sight

interface Props {
  functions: Functions;
  columns: Columns;
  times: Times;
  matches: Uint8Array | null;
  selected: number;
  select(row: number): void;
}

/** The table of all functions, or of those that match a search. */
export function Table({ functions, columns, times, matches, selected, select }: Props) {
  const [sort, setSort] = useState({ name: functions.head.timeless ? "calls" : "own", descending: true });
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const pane = useRef<HTMLDivElement>(null);
  const cells: Cells = columns.of[sort.name];
  const all = useMemo(() => ordered(functions, cells, sort.descending, times), [functions, cells, sort, times]);
  const rows = useMemo(() => (matches ? all.filter((row) => matches[row]) : all), [all, matches]);
  const scale = useMemo(() => largest(functions.column(`${times}.own`)), [functions, times]);

  useEffect(() => {
    const watcher = new ResizeObserver(() => setHeight(pane.current?.clientHeight ?? 600));
    if (pane.current) watcher.observe(pane.current);
    return () => watcher.disconnect();
  }, []);

  useEffect(() => {
    const at = rows.indexOf(selected);
    if (at < 0 || !pane.current) return;
    const { scrollTop, clientHeight } = pane.current;
    if (at * ROW < scrollTop || (at + 2) * ROW > scrollTop + clientHeight) {
      pane.current.scrollTop = Math.max(0, at * ROW - clientHeight / 2);
    }
  }, [selected, rows]);

  const move = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -rows.length, End: rows.length }[
      event.key
    ];
    if (by === undefined || !rows.length) return;
    const at = rows.indexOf(selected);
    const next = at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by));
    select(rows[next]);
    event.preventDefault();
  };

  const first = Math.max(0, Math.min(Math.floor(top / ROW) - AROUND, rows.length - 1));
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW) + AROUND);
  const [own, waits] = [times, "wait"].map((one) => functions.column(`${one}.own`));
  const sorted = (name: string) => (name === sort.name ? (sort.descending ? "descending" : "ascending") : "none");
  const turn = (name: string) => setSort({ name, descending: name === sort.name ? !sort.descending : true });
  return (
    <div class="table-pane" ref={pane} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <table class="functions" aria-rowcount={rows.length + 1} aria-label="functions">
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col" class="name">
              function
            </th>
            {columns.names.map((name) => (
              <th key={name} scope="col" aria-sort={sorted(name)} class={name}>
                <button type="button" title={columns.of[name].about} onClick={() => turn(name)}>
                  {columns.of[name].title}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody onKeyDown={move}>
          {first > 0 && <tr class="space" style={{ height: `${first * ROW}px` }} />}
          {rows.slice(first, last).map((row, at) => (
            <tr
              key={row}
              aria-rowindex={first + at + 2}
              aria-selected={row === selected}
              class={row === selected ? "selected" : ""}
              onClick={() => select(row)}
            >
              <th scope="row" class="name">
                <button
                  type="button"
                  class={`function whose${functions.whose[row]}`}
                  tabIndex={row === (rows.includes(selected) ? selected : rows[0]) ? 0 : -1}
                >
                  <Name {...functions.parts(row)} />
                  <bdi class="place">{functions.head.places[row]}</bdi>
                </button>
              </th>
              {columns.names.map((name) => (
                <td key={name} class={name}>
                  {name === "own" && (
                    <span class="bar" style={{ width: `${(100 * own[row]) / (scale || 1)}%` }}>
                      {times === "wall" && <i style={{ width: `${(100 * waits[row]) / (own[row] || 1)}%` }} />}
                    </span>
                  )}
                  {columns.of[name].text(row)}
                </td>
              ))}
            </tr>
          ))}
          {last < rows.length && <tr class="space" style={{ height: `${(rows.length - last) * ROW}px` }} />}
        </tbody>
      </table>
      {rows.length === 0 && <p class="state">{matches ? "No function matches the search." : "No function ran."}</p>}
    </div>
  );
}
