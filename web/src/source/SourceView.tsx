// A source of any length, with columns of numbers beside its lines and a strip that shows all of it. Only the rows in
// sight are elements, so that twenty thousand lines scroll smoothly.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { highlighted, type Piece } from "../chrome/highlight.ts";
import { LINE, type Rows } from "./rows.ts";
import { Strip } from "./Strip.tsx";

const ROW = 20; // px, as in the style
const AROUND = 12;
const WIDEST = 400; // characters of a line
const SCROLLS = { tabIndex: 0 }; // by the keyboard, too

export interface Gutter {
  name: string;
  title: string;
  about: string;
  text(row: number): string;
}

export interface Goal {
  line: number;
}

interface Props {
  label: string;
  lines: readonly string[];
  rows: Rows;
  gutter: Gutter[];
  /** Return the class of a row. */
  look(row: number): string;
  /** Return the content of a row without source. */
  extra(row: number): ComponentChildren;
  /** Return the content at the end of a line. */
  after?(line: number): ComponentChildren;
  /** Return the address of a line. */
  href(line: number): string;
  /** Return the colour number of a row in the strip, or 0 for none. Important colours have larger numbers. */
  mark(row: number): number;
  colours: string[]; // custom properties
  found: Set<number>;
  /** The width of extra()'s content, in characters. */
  wide?: number;
  goal: Goal | null;
  theme: number;
}

export function SourceView(props: Props) {
  const { label, lines, rows, gutter, look, extra, after, href, found, goal } = props;
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const pane = useRef<HTMLElement>(null);
  const text = useMemo(() => highlighted(lines as string[]), [lines]);
  const widths = useMemo(() => gutter.map((one) => widest(one, rows)), [gutter, rows]);
  const code = useMemo(() => lines.reduce((most, line) => Math.max(most, Math.min(line.length, WIDEST)), 40), [lines]);
  const size = rows.line.length;

  useEffect(() => {
    const watcher = new ResizeObserver(() => setHeight(pane.current?.clientHeight ?? 600));
    if (pane.current) watcher.observe(pane.current);
    return () => watcher.disconnect();
  }, []);

  useEffect(() => {
    if (!pane.current) return;
    const at = goal ? rows.of.get(goal.line) : 0;
    pane.current.scrollTop = at ? Math.max(0, at * ROW - pane.current.clientHeight / 3) : 0;
    setTop(pane.current.scrollTop);
  }, [goal, rows]);

  const first = Math.max(0, Math.min(Math.floor(top / ROW) - AROUND, size - 1));
  const last = Math.min(size, Math.ceil((top + height) / ROW) + AROUND);
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
  return (
    <div class="source-frame">
      <section
        class="whole-source"
        {...SCROLLS}
        aria-label={label}
        ref={pane}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      >
        <table aria-rowcount={size + 1} aria-label={label}>
          <colgroup>
            <col style={{ width: `${String(rows.line[size - 1] ?? 1).length + 2}ch` }} />
            {gutter.map((one, at) => (
              <col key={one.name} style={{ width: `${widths[at] + 2}ch` }} />
            ))}
            <col style={{ width: `${Math.max(code + (after ? 14 : 2), props.wide ?? 0)}ch` }} />
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              <th scope="col" class="number">
                line
              </th>
              {gutter.map((one) => (
                <th key={one.name} scope="col" class={one.name} title={one.about}>
                  {one.title}
                </th>
              ))}
              <td />
            </tr>
          </thead>
          <tbody>
            {first > 0 && <tr class="space" style={{ height: `${first * ROW}px` }} />}
            {shown.map((row) => {
              const line = rows.line[row];
              const isLine = rows.extra[row] === LINE;
              const source = lines[line - 1];
              const here = goal?.line === line && isLine ? " here" : "";
              return (
                <tr
                  key={row}
                  aria-rowindex={row + 2}
                  class={`${look(row)}${here}${isLine && found.has(line) ? " match" : ""}`}
                >
                  {isLine ? (
                    <th scope="row" class="number">
                      <a href={href(line)} tabIndex={-1}>
                        {line}
                      </a>
                    </th>
                  ) : (
                    <td class="number" />
                  )}
                  {gutter.map((one) => (
                    <td key={one.name} class={one.name}>
                      {one.text(row)}
                    </td>
                  ))}
                  <td class="code">
                    {isLine && source !== undefined ? <Pieces of={text[line - 1]} /> : extra(row)}
                    {isLine && after?.(line)}
                  </td>
                </tr>
              );
            })}
            {last < size && <tr class="space" style={{ height: `${(size - last) * ROW}px` }} />}
          </tbody>
        </table>
      </section>
      <Strip
        {...{ size, mark: props.mark, colours: props.colours, theme: props.theme, top, height }}
        row={ROW}
        go={(to) => pane.current?.scrollTo(0, to)}
      />
    </div>
  );
}

function Pieces({ of }: { of: Piece[] }) {
  return (
    <>
      {of.map(([kind, piece], index) =>
        kind ? (
          <i key={index} class={kind}>
            {piece}
          </i>
        ) : (
          piece
        ),
      )}
    </>
  );
}

/** Return the length of the longest cell of a column. */
function widest(gutter: Gutter, rows: Rows): number {
  let most = gutter.title.length;
  for (let row = 0; row < rows.line.length; row++) most = Math.max(most, gutter.text(row).length);
  return most;
}
