// A table that a click on a heading sorts. A long one in a pane has elements for the rows in sight only, and reports
// its true size to a screen reader. A long one among other tables is folded.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { numberOf } from "../data/words.ts";
import { type Column, DIVIDER, type Sort, turned } from "./grid.ts";

const ROW = 26; // px, as in the style
const AROUND = 8; // rows above and below what is in sight
const FIRST = 20; // rows of a folded table

interface Props {
  label: string;
  /** The heading of the first column, and the content of its cells. */
  title: string;
  name(row: number): ComponentChildren;
  nameColumn?: Column;
  columns: Column[];
  rows: number[]; // ordered, with DIVIDER where libraries begin
  sort: Sort;
  setSort(sort: Sort): void;
  selected?: number;
  /** select: called on a click or an arrow key. choose: called on a click, if arrow keys only move the focus. */
  select?(row: number): void;
  choose?(row: number): void;
  /** The text for a table without rows. */
  nothing: string;
  fold?: boolean;
}

export function Grid(props: Props) {
  const { label, columns, rows, selected = -1, select, choose, nothing, fold } = props;
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [wide, setWide] = useState(false); // true if there are more columns to the right
  const [unfolded, setUnfolded] = useState(false);
  const pane = useRef<HTMLDivElement>(null);

  const look = () => {
    const { clientHeight = 600, scrollLeft = 0, clientWidth = 0, scrollWidth = 0 } = pane.current ?? {};
    setHeight(clientHeight);
    setWide(scrollLeft + clientWidth + 2 < scrollWidth);
  };
  useEffect(() => {
    const watcher = new ResizeObserver(look);
    if (pane.current) watcher.observe(pane.current);
    return () => watcher.disconnect();
  }, []);
  useEffect(look, [columns, rows, unfolded]);

  useEffect(() => {
    const at = selected < 0 ? -1 : rows.indexOf(selected);
    if (at < 0 || !pane.current || fold) return;
    const { scrollTop, clientHeight } = pane.current;
    if (at * ROW < scrollTop || (at + 2) * ROW > scrollTop + clientHeight) {
      pane.current.scrollTop = Math.max(0, at * ROW - clientHeight / 2);
    }
  }, [selected, rows]);

  const move = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -rows.length, End: rows.length }[
      event.key
    ];
    const chosen = rows.filter((row) => row !== DIVIDER);
    if (by === undefined || !chosen.length || !(select || choose)) return;
    const focused = Number((event.target as HTMLElement).closest("tr")?.dataset.row ?? -1);
    const at = chosen.indexOf(select ? selected : focused);
    const row = chosen[at < 0 ? 0 : Math.min(chosen.length - 1, Math.max(0, at + by))];
    select?.(row);
    const button = () => pane.current?.querySelector<HTMLElement>(`tr[data-row="${row}"] button`);
    if (Math.abs(by) > 1 && pane.current) pane.current.scrollTop = Math.max(0, rows.indexOf(row) * ROW - height / 2);
    if (button()) button()?.focus();
    else requestAnimationFrame(() => requestAnimationFrame(() => button()?.focus())); // when it is there
    event.preventDefault();
  };

  const first = fold ? 0 : Math.max(0, Math.min(Math.floor(top / ROW) - AROUND, rows.length - 1));
  const folded = fold && !unfolded && rows.length > FIRST + 10;
  const last = fold ? (folded ? FIRST : rows.length) : Math.min(rows.length, Math.ceil((top + height) / ROW) + AROUND);
  const count = rows.filter((row) => row !== DIVIDER).length;
  const tab = selected >= 0 && rows.includes(selected) ? selected : rows.find((row) => row !== DIVIDER);
  return (
    <div class={`${fold ? "loose-frame" : "pane-frame"}${wide ? " wide" : ""}`}>
      <div
        class={fold ? "grid-frame" : "table-pane"}
        ref={pane}
        {...(fold ? { tabIndex: 0, role: "group", "aria-label": `${label}, a table` } : {})}
        onScroll={(event) => {
          setTop(event.currentTarget.scrollTop);
          look();
        }}
      >
        <table class={`functions grid${fold ? " loose" : ""}`} aria-rowcount={rows.length + 1} aria-label={label}>
          <thead>
            <Heads {...props} />
          </thead>
          <tbody onKeyDown={move}>
            {first > 0 && <tr class="space" style={{ height: `${first * ROW}px` }} />}
            {rows.slice(first, last).map((row, at) =>
              row === DIVIDER ? (
                <tr class="divider" key={row} aria-rowindex={first + at + 2}>
                  <td colSpan={columns.length + 1}>Libraries</td>
                </tr>
              ) : (
                <Row key={row} {...props} row={row} index={first + at + 2} tab={row === tab} />
              ),
            )}
            {!fold && last < rows.length && <tr class="space" style={{ height: `${(rows.length - last) * ROW}px` }} />}
          </tbody>
        </table>
        {rows.length === 0 && <p class="state">{nothing}</p>}
        {folded && (
          <p class="rest">
            <button type="button" class="button" onClick={() => setUnfolded(true)}>
              Show all {numberOf(count, "row")}
            </button>
          </p>
        )}
      </div>
    </div>
  );
}

function Heads({ title, nameColumn, columns, rows, sort, setSort }: Props) {
  const state = (name: string) => (name === sort.name ? (sort.descending ? "descending" : "ascending") : "none");
  const sample = rows.find((row) => row !== DIVIDER) ?? 0;
  return (
    <tr aria-rowindex={1}>
      <th scope="col" class="name" aria-sort={nameColumn && state(nameColumn.name)}>
        {nameColumn ? (
          <button type="button" onClick={() => setSort(turned(sort, nameColumn, sample))}>
            {title}
          </button>
        ) : (
          title
        )}
      </th>
      {columns.map((column) => (
        <th key={column.name} scope="col" aria-sort={state(column.name)} class={column.left ? "left" : ""}>
          <button type="button" title={column.about} onClick={() => setSort(turned(sort, column, sample))}>
            {column.title}
          </button>
        </th>
      ))}
    </tr>
  );
}

function Row(props: Props & { row: number; index: number; tab: boolean }) {
  const { row, index, tab, columns, name, selected = -1, select, choose } = props;
  const act = select ?? choose;
  return (
    <tr
      aria-rowindex={index}
      data-row={row}
      aria-selected={act ? row === selected : undefined}
      class={row === selected ? "selected" : ""}
      onClick={act && (() => act(row))}
    >
      <th scope="row" class="name">
        {act ? (
          <button type="button" class="function plain" tabIndex={tab ? 0 : -1}>
            {name(row)}
          </button>
        ) : (
          name(row)
        )}
      </th>
      {columns.map((column) => (
        <td
          key={column.name}
          class={`${column.name} ${column.left ? "left" : ""} ${column.bar ? "barred" : ""} ${column.look?.(row) ?? ""}`}
        >
          {column.bar && <span class="bar" style={{ width: `${100 * Math.min(1, column.bar(row))}%` }} />}
          {column.text(row)}
        </td>
      ))}
    </tr>
  );
}
