// The page of coverage: the files as a tree or a table, and the source of one with its missing lines.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Choice, Keys, Search, Switch, Theme } from "../chrome/controls.tsx";
import { Facts } from "../chrome/Facts.tsx";
import { useKeys, useTheme } from "../chrome/keys.ts";
import { type CoverageHead, covered, type Entry, Files, grade, type Totals } from "../data/coverage.ts";
import type { Payload } from "../data/payload.ts";
import { search } from "../data/search.ts";
import { count, numberOf, percentText } from "../data/words.ts";
import { Grid } from "../table/Grid.tsx";
import type { Column, Sort } from "../table/grid.ts";
import { CoveredSource } from "./CoveredSource.tsx";
import { Path, placed } from "./Path.tsx";

type List = "tree" | "files";

const LISTS: [List, string, string][] = [
  ["tree", "Tree", "folders and what is in them"],
  ["files", "Files", "all files in one table"],
];
const KEYS: [string, string][] = [
  ["↑ ↓", "next and previous row of the table"],
  ["Enter", "open the file, open or close the folder"],
  ["n p", "next and previous missing or partial place of the file"],
  ["u", "back to all files"],
  ["/", "search"],
  ["1 2", "tree, files"],
  ["?", "this list"],
];

export function CoveragePage({ payload }: { payload: Payload<CoverageHead> }) {
  const { head } = payload;
  const files = useMemo(() => new Files(head, payload), [payload]);
  const [list, setList] = useState<List>("tree");
  const [words, setWords] = useState("");
  const [incomplete, setIncomplete] = useState(false);
  const [theme, changed] = useTheme();
  const [help, setHelp] = useState(false);
  const [place, go] = usePlace(head);
  const field = useRef<HTMLInputElement>(null);
  const found = useMemo(() => search(words, files.size, (file) => head.paths[file]), [files, words]);
  const shown = useMemo(
    () =>
      Array.from(head.paths, (_, file) => file).filter((file) => {
        const totals = files.totals(file);
        return (!found.matches || found.matches[file]) && (!incomplete || totals.missing + totals.untaken > 0);
      }),
    [files, found.matches, incomplete],
  );
  useKeys({
    "/": () => field.current?.focus(),
    u: () => go(-1, 0),
    "1": () => setList("tree"),
    "2": () => setList("files"),
    "?": () => setHelp(true),
  });
  return (
    <>
      <Facts title={head.title} facts={head.facts}>
        <Theme changed={changed} />
        <button type="button" class="icon" aria-label="keys" title="keys (?)" onClick={() => setHelp(true)}>
          ?
        </button>
      </Facts>
      <Summary head={head} left={head.of - files.size} />
      <nav class="tools" aria-label="what is shown">
        <Choice name="list" label="files as" value={list} choices={LISTS} choose={(one) => setList(one)} />
        <Switch on={incomplete} turn={setIncomplete} title="leave out what is covered in full">
          Only incomplete files
        </Switch>
        <Search
          {...{ words, field }}
          label="files"
          problem={found.problem}
          found={found.matches ? numberOf(found.count, "file") : ""}
          search={setWords}
        />
      </nav>
      <main class="split">
        <section class="list" aria-label="files">
          <FileList
            {...{ list, files, shown, place }}
            open={found.matches !== null}
            select={(file) => go(file, 0)}
            few={place.file >= 0}
          />
        </section>
        {place.file >= 0 && (
          <section class="reading" aria-label="source">
            <CoveredSource
              key={place.file}
              {...{ files, place, theme }}
              go={(line) => go(place.file, line)}
              close={() => go(-1, 0)}
            />
          </section>
        )}
      </main>
      {help && <Keys keys={KEYS} close={() => setHelp(false)} />}
    </>
  );
}

export interface Place {
  file: number; // -1: none
  line: number; // 0 for the first missing line
}

/** Return the file and the line in the page's address, and a function that goes to others. */
function usePlace(head: CoverageHead): [Place, (file: number, line: number) => void] {
  const of = (): Place => {
    const at = placed(location.hash);
    return { file: at ? head.paths.indexOf(at.path) : -1, line: at?.line ?? 0 };
  };
  const [place, setPlace] = useState<Place>(of);
  useEffect(() => {
    const moved = () => setPlace(of());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return [place, (file, line) => setPlace({ file, line })];
}

function Summary({ head, left }: { head: CoverageHead; left: number }) {
  const { totals, precision } = head;
  const percent = covered(totals);
  const ran = `${count(totals.statements - totals.missing)} of ${numberOf(totals.statements, "statement")}`;
  const taken = `${count(totals.branches - totals.untaken)} of ${numberOf(totals.branches, "branch", "branches")}`;
  return (
    <section class="summary" aria-label="total">
      {head.of > 0 ? (
        <p class="total">
          <b class={grade(percent)}>{percentText(percent, precision)} %</b>{" "}
          <span>
            {ran}
            {head.branch && ` and ${taken}`}, in {numberOf(head.of, "file")}
            {left > 0 && `; ${count(left)} not shown`}
          </span>
          <CoverBar totals={totals} />
        </p>
      ) : (
        <p class="total warn">
          There is no file to report: nothing that was to be recorded ran, or no source can be read.
        </p>
      )}
      {head.below && (
        <p class="quiet">
          All files are below <bdi>{head.below}</bdi>
        </p>
      )}
      {head.problems.length > 0 && (
        <details class="problems">
          <summary class="warn">{numberOf(head.problems.length, "problem")}</summary>
          <ul>
            {head.problems.map(([path, text], at) => (
              <li key={at}>
                {path && (
                  <>
                    <bdi>
                      <code>{path}</code>
                    </bdi>
                    :{" "}
                  </>
                )}
                {text}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

/** A bar of executed and partial lines; the text beside it has the same numbers. */
function CoverBar({ totals }: { totals: Totals }) {
  const whole = totals.statements + totals.branches;
  return (
    <span class="cover-bar" aria-hidden="true">
      <span class="ran" style={{ width: `${covered(totals)}%` }} />
      <span class="partial" style={{ width: `${whole ? (100 * totals.partial) / whole : 0}%` }} />
    </span>
  );
}

interface ListProps {
  list: List;
  files: Files;
  shown: number[];
  place: Place;
  open: boolean; // all folders, since a match may be in any
  few: boolean; // columns
  select(file: number): void;
}

function FileList({ list, files, shown, place, open, few, select }: ListProps) {
  const { head } = files;
  const [sort, setSort] = useState<Sort>({ name: "path", descending: false });
  const [turned, setTurned] = useState(new Map<string, boolean>());
  const tree = useMemo(() => files.tree(shown), [files, shown]);
  const entries = useMemo(() => {
    const found = new Map<number, Entry>();
    const walk = (entry: Entry) => {
      found.set(entry.row, entry);
      entry.children.forEach(walk);
    };
    tree.children.forEach(walk);
    return found;
  }, [tree]);
  const named: Column = {
    name: "path",
    title: "file",
    text: () => "",
    value: (row) => (list === "files" && row < files.size ? head.paths[row] : (entries.get(row)?.name ?? "")),
  };
  const columns = useMemo(() => columnsOf(head, (row) => entries.get(row)?.totals ?? head.totals, few), [entries, few]);
  const isOpen = (entry: Entry) => turned.get(keyOf(entry)) ?? (open || shown.length <= 40 || entry.depth === 0);
  const rows = useMemo(() => {
    const column = sort.name === "path" ? named : columns.find((one) => one.name === sort.name);
    const sign = sort.descending ? -1 : 1;
    const found: number[] = [];
    const order = (a: Entry, b: Entry) => {
      const [one, other] = [column?.value(a.row) ?? 0, column?.value(b.row) ?? 0];
      return one < other ? -sign : one > other ? sign : 0;
    };
    const walk = (children: Entry[]) => {
      for (const entry of [...children].sort(order)) {
        found.push(entry.row);
        if (entry.file < 0 && isOpen(entry)) walk(entry.children);
      }
    };
    if (list === "tree") walk(tree.children);
    else for (const entry of shown.map((file) => entries.get(file) as Entry).sort(order)) found.push(entry.row);
    return found;
  }, [tree, entries, columns, list, sort, turned, open]);
  const choose = (row: number) => {
    const entry = entries.get(row);
    if (!entry) return;
    if (entry.file >= 0) select(entry.file);
    else setTurned(new Map(turned).set(keyOf(entry), !isOpen(entry)));
  };
  return (
    <Grid
      label="files"
      title="file"
      nameColumn={named}
      {...{ columns, rows, sort, setSort }}
      selected={place.file}
      choose={choose}
      nothing={files.size ? "No file matches." : "No file is shown."}
      name={(row) => {
        const entry = entries.get(row);
        if (!entry) return null;
        if (list === "files") return <Named path={files.name(row)} changed={files.changed(row)} />;
        return (
          <span class="entry" style={{ paddingLeft: `${entry.depth}rem` }}>
            {entry.file < 0 ? (
              <span class={`folder${isOpen(entry) ? " open" : ""}`}>
                <span class="hidden">{isOpen(entry) ? "open folder" : "closed folder"}</span>
                <bdi>{entry.name}/</bdi>
              </span>
            ) : (
              <Named path={entry.name} changed={files.changed(row)} />
            )}
          </span>
        );
      }}
    />
  );
}

const keyOf = (entry: Entry) => `${entry.depth} ${entry.name} ${entry.totals.statements}`;

function Named({ path, changed }: { path: string; changed: boolean }) {
  return (
    <>
      <Path path={path} />
      {changed && (
        <span class="tag" title="The source has changed since it was recorded">
          changed
        </span>
      )}
    </>
  );
}

function columnsOf(head: CoverageHead, of: (row: number) => Totals, few: boolean): Column[] {
  const number = (name: keyof Totals, title: string, about: string): Column => ({
    name,
    title,
    about,
    text: (row) => count(of(row)[name]),
    value: (row) => of(row)[name],
    look: (row) => (of(row)[name] ? "" : "zero"),
  });
  const all: (Column | false)[] = [
    {
      name: "covered",
      title: "covered",
      about: "executed statements and branches of all",
      text: (row) => `${percentText(covered(of(row)), head.precision)} %`,
      value: (row) => covered(of(row)),
      look: (row) => grade(covered(of(row))),
      bar: (row) => covered(of(row)) / 100,
    },
    number("missing", "missing", "statements that never ran"),
    head.branch && number("partial", "partial", "branches of lines that ran which were never taken"),
    number("statements", "statements", "statements, without excluded ones"),
    head.branch && number("branches", "branches", "ways that lines with several have"),
    number("excluded", "excluded", "lines that the settings leave out"),
    {
      name: "lines",
      title: "missing lines",
      about: "lines that never ran, and branches that were never taken",
      left: true,
      text: (row) => head.missing[row] ?? "",
      value: (row) => of(row).missing,
    },
  ];
  const shown = all.filter((one) => one !== false);
  return few ? shown.slice(0, head.branch ? 3 : 2) : shown;
}
