// The page of lines' times: tables of functions, lines and files, and the whole source with its heat.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Choice, Keys, Pick, Search, Theme } from "../chrome/controls.tsx";
import { Facts } from "../chrome/Facts.tsx";
import { useKeys, useTheme } from "../chrome/keys.ts";
import { HEATS, instructionAt, Lines, type LinesHead, libraryWords, type Times, timed } from "../data/lines.ts";
import { largest, sum } from "../data/numbers.ts";
import type { Payload } from "../data/payload.ts";
import { search } from "../data/search.ts";
import { count, duration, error, numberOf, percent, rank, share } from "../data/words.ts";
import { LINE, linesWith, next } from "../source/rows.ts";
import { type Goal, type Gutter, SourceView } from "../source/SourceView.tsx";
import { Grid } from "../table/Grid.tsx";
import { type Column, divided, type Sort, sorted } from "../table/grid.ts";
import { Name } from "../table/Name.tsx";
import { Path, placed } from "./Path.tsx";

type List = "functions" | "lines" | "files";

const LISTS: [List, string, string][] = [
  ["functions", "Functions", "by the own time of their lines"],
  ["lines", "Lines", "single lines, wherever they are"],
  ["files", "Files", "by the own time of their lines"],
];
const TIMES: Record<Times, string> = { cpu: "running", wait: "waiting", wall: "elapsed" };
const KEYS: [string, string][] = [
  ["↑ ↓", "next and previous row of the table"],
  ["n p", "next and previous hot line of the file"],
  ["/", "search; Enter goes to the next line found"],
  ["1 2 3", "functions, lines, files"],
  ["?", "this list"],
];
const HOT = 5; // heat
const COLOURS = ["", ...Array.from({ length: HEATS }, (_, at) => `--heat${at + 1}`), "--found"];
const FOUND = COLOURS.length - 1;

export function LinesPage({ payload }: { payload: Payload<LinesHead> }) {
  const { head } = payload;
  const [list, setList] = useState<List>("functions");
  const [times, setTimes] = useState<Times>(head.times);
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState({ list: "" as List | "", row: -1 });
  const [theme, changed] = useTheme();
  const [help, setHelp] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const lines = useMemo(() => new Lines(head, payload, times), [payload, times]);
  const [place, go] = usePlace(lines);

  const found = useMemo(
    () => search(words, lines.functions, (fn) => `${lines.functionName(fn)}\n${head.files[lines.fileOf(fn)].path}`),
    [lines, words],
  );
  const inSource = useMemo(() => linesWith(head.files[place.file]?.lines ?? [], words), [head, place.file, words]);
  const hot = useMemo(() => hotLines(lines, place.file), [lines, place.file]);
  const step = (places: number[], forth: boolean) => places.length && go(place.file, next(places, place.line, forth));
  useKeys({
    "/": () => field.current?.focus(),
    n: () => step(hot, true),
    p: () => step(hot, false),
    "1": () => setList("functions"),
    "2": () => setList("lines"),
    "3": () => setList("files"),
    "?": () => setHelp(true),
  });
  const select = (row: number) => {
    setChosen({ list, row });
    if (list === "files") go(row, lines.line[lines.rowsOfFile[row][0]] ?? 1);
    else if (list === "lines") go(lines.fileOf(lines.fn[row]), lines.line[row]);
    else go(lines.fileOf(row), lines.firstLine(row));
  };
  const libraries = libraryWords(lines);
  return (
    <>
      <Facts title={head.title} facts={head.facts}>
        <Theme changed={changed} />
        <button type="button" class="icon" aria-label="keys" title="keys (?)" onClick={() => setHelp(true)}>
          ?
        </button>
      </Facts>
      <nav class="tools" aria-label="what is shown">
        <Choice name="list" label="table" value={list} choices={LISTS} choose={(one) => setList(one)} />
        {head.there.length > 1 && (
          <Pick
            name="times"
            label="Time of"
            value={times}
            choices={head.there.map((one) => [one, TIMES[one]])}
            choose={(one) => setTimes(one)}
          />
        )}
        <span class="quiet whole-time">
          100 % is {duration(lines.whole)}
          {libraries && `: ${libraries}`}
        </span>
        <Search
          {...{ words, field }}
          label="functions and source"
          problem={found.problem}
          found={
            found.matches
              ? `${numberOf(found.count, "function")}; ${numberOf(inSource.size, "line")} of this source`
              : ""
          }
          search={setWords}
          step={(forth) => step([...inSource], forth)}
        />
      </nav>
      <main class="split">
        <section class="list" aria-label={LISTS.find(([one]) => one === list)?.[1]}>
          <Tables
            key={list}
            {...{ list, lines, words, select }}
            matches={found.matches}
            selected={chosen.list === list ? chosen.row : -1}
          />
        </section>
        <section class="reading" aria-label="source">
          {head.files[place.file] ? (
            <FileSource {...{ lines, place, hot, step, theme }} found={inSource} />
          ) : (
            <p class="state">No line ran, or none was timed.</p>
          )}
        </section>
      </main>
      {help && <Keys keys={KEYS} close={() => setHelp(false)} />}
    </>
  );
}

interface Place extends Goal {
  file: number;
}

/** Return the shown file and line: those in the address, or the program's hottest. */
function usePlace(lines: Lines): [Place, (file: number, line: number) => void] {
  const { files } = lines.head;
  const of = (hash: string): Place | null => {
    const at = placed(hash);
    const file = at ? files.findIndex((one) => one.path === at.path) : -1;
    return at && file >= 0 ? { file, line: at.line } : null;
  };
  const [place, setPlace] = useState<Place>(() => of(location.hash) ?? hottest(lines));
  useEffect(() => {
    const moved = () => {
      const to = of(location.hash);
      if (to) setPlace(to);
    };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return [place, (file, line) => setPlace({ file, line })];
}

function hottest(lines: Lines): Place {
  let best = -1;
  for (let row = 0; row < lines.size; row++) {
    const foreign = lines.foreign(lines.fileOf(lines.fn[row]));
    const other = best >= 0 && lines.foreign(lines.fileOf(lines.fn[best]));
    if (best < 0 || (other && !foreign) || (foreign === other && lines.rank(row) > lines.rank(best))) best = row;
  }
  return best < 0 ? { file: 0, line: 1 } : { file: lines.fileOf(lines.fn[best]), line: lines.line[best] };
}

function hotLines(lines: Lines, file: number): number[] {
  const rows = lines.rowsOfFile[file] ?? [];
  return [...new Set(rows.filter((row) => lines.heat(row) >= HOT).map((row) => lines.line[row]))];
}

// ---- tables ----

interface TablesProps {
  list: List;
  lines: Lines;
  words: string;
  matches: Uint8Array | null;
  selected: number;
  select(row: number): void;
}

function Tables({ list, lines, words, matches, selected, select }: TablesProps) {
  const [sort, setSort] = useState<Sort>({ name: "own", descending: true });
  const { columns, rows, name, foreign } = useMemo(() => tableOf(list, lines), [list, lines]);
  const shown = useMemo(() => {
    const fn = (row: number) => (list === "lines" ? lines.fn[row] : row);
    const texts = list === "lines" && matches ? rows.map((row) => lines.text(row) ?? "") : [];
    const withText = new Set([...linesWith(texts, words)].map((at) => rows[at - 1]));
    const filtered = !matches
      ? rows
      : list === "files"
        ? rows.filter((file) => matches.some((one, at) => one && lines.fileOf(at) === file))
        : rows.filter((row) => matches[fn(row)] || (list === "lines" && withText.has(row)));
    const column = columns.find((one) => one.name === sort.name);
    return divided(sorted(filtered, column, sort.descending), foreign);
  }, [rows, columns, sort, matches]);
  return (
    <Grid
      {...{ columns, sort, setSort, selected, select, name }}
      label={list}
      title={list === "files" ? "file" : list === "lines" ? "line" : "function"}
      rows={shown}
      nothing={matches ? "Nothing matches the search." : "No line ran, or none was timed."}
    />
  );
}

interface TableOf {
  columns: Column[];
  rows: number[];
  name(row: number): preact.ComponentChildren;
  foreign(row: number): boolean;
}

function tableOf(list: List, lines: Lines): TableOf {
  if (list === "lines") return tableOfLines(lines);
  return list === "files" ? tableOfFiles(lines) : tableOfFunctions(lines);
}

const OWN = { name: "own", about: "time in the line itself and the C functions that it called" };
const title = (lines: Lines) => (lines.times === "wait" ? "waiting" : "own");

function tableOfLines(lines: Lines): TableOf {
  const columns: (Column | false)[] = [
    {
      ...OWN,
      title: title(lines),
      text: lines.ownText,
      value: lines.rank,
      bar: (row) => lines.own[row] / (lines.hottest || 1),
    },
    {
      name: "error",
      title: "±",
      about: "its error, in 19 of 20 cases",
      left: true,
      text: lines.errorText,
      value: (row) => lines.ownError[row] / (lines.own[row] || 1),
    },
    { name: "percent", title: `${title(lines)} %`, about: "share of all", text: lines.shareText, value: lines.rank },
    lines.waits && {
      name: "waiting",
      title: "waiting",
      about: "time of its own in which it did not run",
      text: lines.waitText,
      value: (row) => lines.wait[row],
    },
    lines.waits && {
      name: "for",
      title: "for",
      about: "what it mostly waited for",
      left: true,
      text: lines.whyText,
      value: (row) => lines.wait[row],
    },
    {
      name: "inner",
      title: "inner",
      about: "time in the Python functions that it called",
      text: lines.innerText,
      value: (row) => rank(lines.inner[row], lines.innerError[row]),
    },
    {
      name: "each",
      title: "each",
      about: "own and inner time a hit",
      text: lines.eachText,
      value: (row) => lines.total[row] / (lines.hits[row] || 1),
    },
    {
      name: "hits",
      title: "hits",
      about: "how often the line began; exact",
      text: lines.hitsText,
      value: (row) => lines.hits[row],
    },
    largest(lines.await) > 0 && {
      name: "awaiting",
      title: "awaiting",
      about: "time until a coroutine went on",
      text: lines.awaitText,
      value: (row) => lines.await[row],
    },
  ];
  const rows = Array.from({ length: lines.size }, (_, row) => row)
    .filter((row) => lines.own[row] > 0 || lines.hits[row])
    .sort((a, b) => lines.hits[b] - lines.hits[a]);
  return {
    columns: columns.filter((one) => one !== false && there(one, rows)) as Column[],
    rows,
    name: (row) => (
      <>
        <Name name={lineName(lines, row)} />
        <bdi class="place code">{(lines.text(row) ?? lines.head.names[lines.fn[row]]).trim()}</bdi>
      </>
    ),
    foreign: (row) => lines.foreign(lines.fileOf(lines.fn[row])),
  };
}

/** Return true if a column has anything to show. */
function there(column: Column, rows: number[]): boolean {
  return rows.some((row) => column.text(row));
}

function lineName(lines: Lines, row: number): string {
  const place = lines.head.places[lines.fn[row]];
  return `${place.replace(/:\d+$/, "")}:${lines.line[row]}`;
}

function tableOfFunctions(lines: Lines): TableOf {
  const own = Array.from({ length: lines.functions }, (_, fn) => lines.functionOwn(fn));
  const rowsOf: number[][] = own.map(() => []);
  for (let row = 0; row < lines.size; row++) rowsOf[lines.fn[row]].push(row);
  const most = Math.max(0, ...own.map(([ns]) => ns));
  const hot = rowsOf.map((rows) =>
    rows.reduce((best, row) => (lines.own[row] > lines.own[best] ? row : best), rows[0]),
  );
  const columns: Column[] = [
    {
      ...OWN,
      title: title(lines),
      about: "own time of its lines",
      text: (fn) => timed(...own[fn]),
      value: (fn) => rank(...own[fn]),
      bar: (fn) => own[fn][0] / (most || 1),
    },
    {
      name: "error",
      title: "±",
      about: "its error, in 19 of 20 cases",
      left: true,
      text: (fn) => error(own[fn][1], own[fn][0]),
      value: (fn) => own[fn][1] / (own[fn][0] || 1),
    },
    {
      name: "percent",
      title: `${title(lines)} %`,
      about: "share of all",
      text: (fn) => share(...own[fn], lines.whole),
      value: (fn) => rank(...own[fn]),
    },
    {
      name: "lines",
      title: "lines",
      about: "lines that ran",
      text: (fn) => count(rowsOf[fn].length),
      value: (fn) => rowsOf[fn].length,
    },
    {
      name: "hottest",
      title: "hottest",
      about: "its hottest line, and that line's share of it",
      text: (fn) => `${lines.line[hot[fn]]} (${percent(lines.own[hot[fn]], own[fn][0]) || "0 %"})`,
      value: (fn) => lines.own[hot[fn]],
    },
  ];
  const rows = own.map((_, fn) => fn).filter((fn) => rowsOf[fn].length);
  return {
    columns: columns.filter((one) => there(one, rows)),
    rows,
    name: (fn) => (
      <>
        <Name
          lead={lines.functionName(fn).slice(0, -lines.head.names[fn].length || undefined)}
          name={lines.head.names[fn]}
        />
        <bdi class="place">{lines.head.places[fn]}</bdi>
      </>
    ),
    foreign: (fn) => lines.foreign(lines.fileOf(fn)),
  };
}

function tableOfFiles(lines: Lines): TableOf {
  const own = lines.rowsOfFile.map((rows) => sum(rows.map((row) => lines.own[row])));
  const most = Math.max(0, ...own);
  const columns: Column[] = [
    {
      ...OWN,
      title: title(lines),
      about: "own time of its lines",
      text: (file) => duration(own[file]),
      value: (file) => own[file],
      bar: (file) => own[file] / (most || 1),
    },
    {
      name: "percent",
      title: `${title(lines)} %`,
      about: "share of all",
      text: (file) => percent(own[file], lines.whole),
      value: (file) => own[file],
    },
    {
      name: "lines",
      title: "lines",
      about: "lines that ran",
      text: (file) => count(lines.rowsOfFile[file].length),
      value: (file) => lines.rowsOfFile[file].length,
    },
  ];
  return {
    columns,
    rows: own.map((_, file) => file),
    name: (file) => <Path path={lines.head.files[file].path} />,
    foreign: (file) => lines.foreign(file),
  };
}

// ---- the source ----

interface FileSourceProps {
  lines: Lines;
  place: Place;
  hot: number[];
  step(places: number[], forth: boolean): void;
  found: Set<number>;
  theme: number;
}

function FileSource({ lines, place, hot, step, found, theme }: FileSourceProps) {
  const file = lines.head.files[place.file];
  const { rows, main, lines: text } = useMemo(() => lines.source(place.file), [lines, place.file]);
  const of = (row: number) => {
    const extra = rows.extra[row];
    return extra === LINE ? main(rows.line[row]) : extra; // numbers of instructions are below LINE
  };
  const gutter = useMemo(() => gutterOf(lines, place.file, of), [lines, rows]);
  const mark = useMemo(
    () => (row: number) => {
      if (rows.extra[row] === LINE && found.has(rows.line[row])) return FOUND;
      return of(row) >= 0 ? lines.heat(of(row)) : 0;
    },
    [lines, rows, found],
  );
  const own = sum(lines.rowsOfFile[place.file].map((row) => lines.own[row]));
  return (
    <>
      <div class="reading-head">
        <h2>
          <Path path={file.path} />
        </h2>
        <span class="quiet">{percent(own, lines.whole)} of the time</span>
        <span class="steps">
          <button type="button" class="button" title="previous hot line (p)" onClick={() => step(hot, false)}>
            ↑<span class="hidden">previous hot line</span>
          </button>
          <button type="button" class="button" title="next hot line (n)" onClick={() => step(hot, true)}>
            ↓<span class="hidden">next hot line</span>
          </button>
          <span role="status">
            {hot.includes(place.line) ? `${hot.indexOf(place.line) + 1} of ` : ""}
            {numberOf(hot.length, "hot line")}
          </span>
        </span>
      </div>
      {file.problem && <p class="remark warn">{file.problem}</p>}
      {file.lines === null && (
        <p class="remark quiet">
          The sources of the hottest files fill this page: of this one it has the lines that ran.
        </p>
      )}
      <SourceView
        label="source with times"
        {...{ rows, gutter, mark, found, theme }}
        lines={text}
        goal={place}
        colours={COLOURS}
        look={(row) => (of(row) >= 0 ? `ran heat${lines.heat(of(row))}` : rows.extra[row] < LINE ? "small" : "")}
        href={(line) => `#${encodeURI(file.path)}:${line}`}
        extra={(row) => <Extra lines={lines} row={of(row)} isLine={rows.extra[row] === LINE} />}
      />
    </>
  );
}

/** Return the text of a row without source: a function's name or an instruction. */
function Extra({ lines, row, isLine }: { lines: Lines; row: number; isLine: boolean }) {
  if (row === LINE) return null;
  if (row < LINE) {
    const at = instructionAt(row);
    return (
      <span class="quiet">
        {"    "}
        {lines.payload.column("i.offset")[at]} {lines.head.instructions[at]}
      </span>
    );
  }
  const name = lines.head.names[lines.fn[row]];
  return <span class="quiet">{isLine ? name : `    ↳ ${name.split(".").at(-1)}`}</span>;
}

function gutterOf(lines: Lines, file: number, of: (row: number) => number): Gutter[] {
  const rows = lines.rowsOfFile[file];
  const ofRow = (cell: (row: number) => string) => (row: number) => (of(row) >= 0 ? cell(of(row)) : "");
  const hits = lines.payload.column("i.hits");
  const all: Gutter[] = [
    {
      name: "hits",
      title: "hits",
      about: "how often the line began; exact",
      text: (row) => (of(row) < LINE ? count(hits[instructionAt(of(row))]) : ofRow(lines.hitsText)(row)),
    },
    { ...OWN, title: title(lines), text: ofRow(lines.ownText) },
    { name: "error", title: "±", about: "its error, in 19 of 20 cases", text: ofRow(lines.errorText) },
    { name: "waiting", title: "waiting", about: "time in which it did not run", text: ofRow(lines.waitText) },
    { name: "for", title: "for", about: "what it mostly waited for", text: ofRow(lines.whyText) },
    { name: "inner", title: "inner", about: "time in Python functions that it called", text: ofRow(lines.innerText) },
    { name: "each", title: "each", about: "own and inner time a hit", text: ofRow(lines.eachText) },
    { name: "awaiting", title: "awaiting", about: "time until a coroutine went on", text: ofRow(lines.awaitText) },
  ];
  const cells: Record<string, (row: number) => string> = {
    error: lines.errorText,
    waiting: lines.waitText,
    for: lines.whyText,
    inner: lines.innerText,
    awaiting: lines.awaitText,
  };
  // A phone has room for the source only; the table of lines has all columns.
  const narrow = matchMedia("(max-width: 820px)").matches;
  const wanted = narrow ? all.filter(({ name }) => name === "hits" || name === "own") : all;
  return wanted.filter(({ name }) => !cells[name] || rows.some((row) => cells[name](row)));
}
