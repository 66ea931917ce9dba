// The page of objects: a timeline, survivors of calls, tables, lifetimes, and holders.

import { useMemo, useRef, useState } from "preact/hooks";
import { Keys, Search, Theme } from "../chrome/controls.tsx";
import { Facts } from "../chrome/Facts.tsx";
import { useKeys, useTheme } from "../chrome/keys.ts";
import { largest } from "../data/numbers.ts";
import type { Numbers, Payload } from "../data/payload.ts";
import { search } from "../data/search.ts";
import { numberOf } from "../data/words.ts";
import { Held, type HeldHead } from "../objects/Held.tsx";
import { type Life, Lives } from "../objects/Lives.tsx";
import { Timeline, type TimelineHead } from "../objects/Timeline.tsx";
import { Grid } from "../table/Grid.tsx";
import { type Column, divided, type Sort, sorted } from "../table/grid.ts";

interface TableHead {
  id: string;
  title: string;
  remark: string;
  heads: { name: string; title: string; about: string; left: boolean }[];
  names: [name: string, place: string, below: string][];
  foreign: number[];
  cells: string[][];
  looks: Record<number, string[]>;
  left: number;
  bar: string;
}

interface ObjectsHead {
  kind: "objects";
  title: string;
  facts: [string, string][];
  tiles: [string, string][];
  timeline: TimelineHead | null;
  tables: TableHead[];
  lives: Life[];
  held: HeldHead | null;
}

const KEYS: [string, string][] = [
  ["/", "search"],
  ["← →", "on the picture of the time: an earlier or a later moment"],
  ["n p", "next and previous section"],
  ["?", "this list"],
];

export function ObjectsPage({ payload }: { payload: Payload<ObjectsHead> }) {
  const { head } = payload;
  const [words, setWords] = useState("");
  const [theme, changed] = useTheme();
  const [help, setHelp] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const main = useRef<HTMLElement>(null);
  const found = useMemo(
    () =>
      head.tables.map((table) =>
        search(words, table.names.length, (row) => table.names[row].filter(Boolean).join(" ")),
      ),
    [head, words],
  );
  const sections = [
    ...(head.timeline ? [["time", "Over time"]] : []),
    ...head.tables.map((table) => [table.id, table.title]),
    ...(head.lives.length ? [["lives", "Lifetimes"]] : []),
    ...(head.held ? [["held", "Who holds them"]] : []),
  ];
  const step = (forth: boolean) => {
    const all = Array.from(main.current?.querySelectorAll<HTMLElement>("section.part") ?? []);
    const top = (main.current?.getBoundingClientRect().top ?? 0) + 8;
    const at = all.findLastIndex((one) => one.getBoundingClientRect().top <= top);
    const to = all[Math.min(all.length - 1, Math.max(0, forth ? at + 1 : at - 1))];
    to?.scrollIntoView();
    to?.querySelector<HTMLElement>("h2 a")?.focus({ preventScroll: true });
  };
  useKeys({
    "/": () => field.current?.focus(),
    n: () => step(true),
    p: () => step(false),
    "?": () => setHelp(true),
  });
  const matching = found.reduce((sum, one) => sum + one.count, 0);
  const searched = words.trim() !== "" && !found.some((one) => one.problem);
  return (
    <>
      <Facts title={head.title} facts={head.facts}>
        <Theme changed={changed} />
        <button type="button" class="icon" aria-label="keys" title="keys (?)" onClick={() => setHelp(true)}>
          ?
        </button>
      </Facts>
      <nav class="tools" aria-label="sections">
        <ul class="sections">
          {sections.map(([id, title]) => (
            <li key={id}>
              <a href={`#${id}`}>{title}</a>
            </li>
          ))}
        </ul>
        <Search
          {...{ words, field }}
          label="types, places and sources"
          problem={found.find((one) => one.problem)?.problem ?? ""}
          found={searched ? numberOf(matching, "row") : ""}
          search={setWords}
        />
      </nav>
      <main class="parts" ref={main} {...{ tabIndex: -1 }}>
        <dl class="tiles">
          {head.tiles.map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        {head.timeline && (
          <Part id="time" title="Over time" remark="the most alive in each part of the time, and births a second">
            <Timeline
              head={head.timeline}
              live={payload.column("time.live")}
              births={payload.column("time.births")}
              theme={theme}
            />
          </Part>
        )}
        {head.tables.map((table, at) => (
          <Part key={table.id} id={table.id} title={table.title} remark={table.remark}>
            <GroupTable table={table} payload={payload} matches={found[at].matches} />
          </Part>
        ))}
        {head.tables.length === 0 && <p class="state">No object was born, or none was recorded.</p>}
        {head.lives.length > 0 && (
          <Part
            id="lives"
            title="Lifetimes"
            remark="deaths by age, in time and in objects born meanwhile; what lives on stands apart"
          >
            <Lives lives={head.lives} />
          </Part>
        )}
        {head.held && (
          <Part
            id="held"
            title="Who holds them"
            remark={`${numberOf(head.held.asked, "survivor")} asked; what an arrow points from is held by what follows`}
          >
            <Held held={head.held} />
          </Part>
        )}
      </main>
      {help && <Keys keys={KEYS} close={() => setHelp(false)} />}
    </>
  );
}

interface PartProps {
  id: string;
  title: string;
  remark: string;
  children: preact.ComponentChildren;
}

function Part({ id, title, remark, children }: PartProps) {
  return (
    <section class="part" id={id} aria-label={title}>
      <h2>
        <a href={`#${id}`}>{title}</a> <span class="quiet">{remark}</span>
      </h2>
      {children}
    </section>
  );
}

interface GroupTableProps {
  table: TableHead;
  payload: Payload<ObjectsHead>;
  matches: Uint8Array | null;
}

function GroupTable({ table, payload, matches }: GroupTableProps) {
  const [sort, setSort] = useState<Sort>({ name: "", descending: true }); // at first in the report's order
  const columns = useMemo(() => columnsOf(table, payload), [table, payload]);
  const rows = useMemo(() => {
    const all = table.names.map((_, row) => row).filter((row) => !matches || matches[row]);
    const column = columns.find((one) => one.name === sort.name);
    return divided(sorted(all, column, sort.descending), (row) => table.foreign[row] > 0);
  }, [table, columns, sort, matches]);
  return (
    <>
      <Grid
        fold
        label={table.title}
        title={table.id === "types" ? "type" : "line and type"}
        {...{ columns, rows, sort, setSort }}
        nothing={matches ? "Nothing matches the search." : "Nothing: everything born in a call was dead at the end."}
        name={(row) => {
          const [name, place, below] = table.names[row];
          return (
            <>
              <bdi class="group">{name}</bdi> <bdi class="place">{place}</bdi>
              {below && <bdi class="below">{below}</bdi>}
            </>
          );
        }}
      />
      {table.left > 0 && <p class="quiet">{numberOf(table.left, "row")} with less not shown.</p>}
    </>
  );
}

function columnsOf(table: TableHead, payload: Payload<ObjectsHead>): Column[] {
  return table.heads.map(({ name, title, about, left }, at) => {
    const values: Numbers = payload.column(`${table.id}.${name}`);
    const most = largest(values) || 1;
    return {
      name,
      title,
      about,
      left,
      text: (row) => table.cells[row][at],
      value: (row) => values[row],
      look: (row) => table.looks[row]?.[at] ?? "",
      ...(table.bar === name ? { bar: (row: number) => values[row] / most } : {}),
    };
  });
}
